variable "cluster_name" {}
variable "nodes" {
  default = { leaf = { ip = "10.20.0.11", role = "controlplane" } }
}

resource "talos_machine_secrets" "this" {}

data "talos_machine_configuration" "this" {
  for_each         = var.nodes
  cluster_name     = var.cluster_name
  cluster_endpoint = "https://10.20.0.10:6443"
  machine_type     = each.value.role
  machine_secrets  = talos_machine_secrets.this.machine_secrets
  talos_version    = "v1.13.2"
  config_patches = [
    yamlencode({ cluster = { network = { cni = { name = "none" } }, proxy = { disabled = true } } }),
  ]
}

resource "talos_machine_configuration_apply" "this" {
  for_each                    = var.nodes
  client_configuration        = talos_machine_secrets.this.client_configuration
  machine_configuration_input = data.talos_machine_configuration.this[each.key].machine_configuration
  node                        = each.value.ip
}
