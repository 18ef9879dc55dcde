variable "cluster" { type = object({ name = string, endpoint = string, talos = string }) }
variable "machines" { type = map(object({ ip = string, role = string, disk = string })) }
variable "cilium_values" { type = string }

locals {
  planes = [for name, one in var.machines : one.ip if one.role == "controlplane"]
}

resource "talos_machine_secrets" "this" {}

data "talos_machine_configuration" "this" {
  for_each           = var.machines
  cluster_name       = var.cluster.name
  cluster_endpoint   = "https://${var.cluster.endpoint}:6443"
  talos_version      = var.cluster.talos
  kubernetes_version = "1.36.0"
  machine_type       = each.value.role
  machine_secrets    = talos_machine_secrets.this.machine_secrets
  config_patches = concat(
    [
      templatefile("${path.module}/patches/common.yaml.tftpl", {
        hostname = each.key
        disk     = each.value.disk
        planes   = local.planes
      }),
    ],
    each.value.role == "controlplane" ? [
      file("${path.module}/patches/control-plane.yaml"),
      yamlencode({
        cluster = {
          allowSchedulingOnControlPlanes = true
          inlineManifests = [
            { name = "cilium-values", contents = <<-EOT
              apiVersion: v1
              kind: ConfigMap
              metadata:
                name: cilium-values
                namespace: kube-system
              EOT
            },
          ]
        }
      }),
    ] : [],
  )
}

resource "talos_machine_configuration_apply" "this" {
  for_each                    = var.machines
  node                        = each.value.ip
  client_configuration        = talos_machine_secrets.this.client_configuration
  machine_configuration_input = data.talos_machine_configuration.this[each.key].machine_configuration
}
