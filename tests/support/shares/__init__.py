"""Shared directories as people have them, made for a test: a file server, and machines that each have a mount.

network.py  namespaces: the server and every machine in one of its own, joined by a switch that can drop a machine
sshfs.py    a real sshd, on loopback or in a namespace, and its mounts
gluster.py  a GlusterFS volume of two bricks
share.py    both behind one interface, with the troubles that a file server has
"""
