"""What the component tests share: no disk is waited for."""

from tests.support.fixtures import no_fsync  # noqa: F401 (a fixture)
