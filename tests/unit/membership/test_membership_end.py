"""Machines agree that the crawl is over, and leave one after the other."""

from tests.support.members import HERS, MINE, Member, url

HOME = url(MINE[0])


def test_machines_that_leave_together(world):
    """Their logs end where all agreed that they end: the last one need not take the others' shards."""
    world.web = {HOME: [url(host, f"{n}") for host in (*MINE, *HERS) for n in range(5)]}
    world.create(HOME)
    members = [world.join(name) for name in ("a", "b", "c")]
    for _ in range(60):
        for member in members:
            member.crawl()
        world.rounds(1)
        if all(list(map(Member.is_over, members))):
            break
    a, b, c = members
    assert all(member.is_over() for member in members)
    held = c.held
    a.leave(finished=True)
    b.leave(finished=True)
    world.rounds(3)
    assert c.is_over()
    assert c.held == held
    c.leave(finished=True)


def test_the_main_loop_stands_still_when_all_is_done(world):
    """The heart beats on. Others go by it and leave, so the log must not get another end then.

    It got one, nothing matched their goodbyes, and this machine took all of their shards.
    """
    links = [url(MINE[0], f"{n}") for n in range(9)]
    world.web = {HOME: [url(HERS[0])], url(HERS[0]): links}
    world.create(HOME)
    a, b = world.join("a"), world.join("b")
    for _ in range(99):
        for member in (a, b):
            task = member.take()
            if task is not None:
                member.finish(task)
            elif member is b or a.membership.snapshot().read != b.membership.ledger.vector_hash():
                member.tick()
            member.beat()
            member.beat()
        if b.is_over():
            break
    assert b.is_over()
    assert world.fetched.total() == 11
    held = a.held
    b.leave(finished=True)
    world.rounds(3)
    assert a.held == held
    assert a.is_over()
