"""Talos files of every style: talhelper, topf, Omni, machine configs, patches, minijinja templates, schematics.

``read`` finds clusters, machines, networks, versions and the manifests that machine configs bring.
``inline_objects`` gives the objects of one of those manifests, with lines of the file around it.
"""

from firstlight.repo.talos.talos_reader import inline_objects, read

__all__ = ["inline_objects", "read"]
