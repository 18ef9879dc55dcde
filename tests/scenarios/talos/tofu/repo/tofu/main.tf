# Machines are called by their names; a module makes the configs.
module "machines" {
  source = "./machines"

  cluster = {
    name     = "garden"
    endpoint = "10.20.0.10"
    talos    = "v1.13.2"
  }
  machines = {
    rose  = { ip = "10.20.0.11", role = "controlplane", disk = "/dev/sda" }
    tulip = { ip = "10.20.0.12", role = "worker", disk = var.tulip_disk }
  }
  cilium_values = file("${path.module}/../apps/cilium/values.yaml")
}

variable "tulip_disk" {
  type = string
}
