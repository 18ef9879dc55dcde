"""talosctl as one class: a method for each command, sorted into files by what they are about."""

from firstlight.clients.talosctl.cluster import Cluster
from firstlight.clients.talosctl.configs import Configs
from firstlight.clients.talosctl.etcd import Etcd
from firstlight.clients.talosctl.facts import Facts
from firstlight.clients.talosctl.power import Power
from firstlight.clients.talosctl.resources import Resources
from firstlight.clients.talosctl.services import Services


class Talosctl(Configs, Cluster, Resources, Facts, Services, Etcd, Power):
    """talosctl at a path, with a talosconfig, or for machines in maintenance mode, or for offline work only."""
