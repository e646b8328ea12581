"""What people run a fleet on, made for a test.

slurm.py      a Slurm of one node: its daemons as processes of the test
container.py  an image built of deploy/Dockerfile without a registry, and containers of it
watching.py   waits for what they do, and looks at the tree
"""
