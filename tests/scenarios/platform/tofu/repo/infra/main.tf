variable "cluster_name" { default = "green" }
variable "admin_password" { sensitive = true }

locals {
  cilium = { version = "1.18.2" }
}

module "talos" {
  source       = "./modules/talos"
  cluster_name = var.cluster_name
}

provider "flux" {
  git = {
    url    = "https://git.example.org/team/green.git"
    branch = "main"
  }
}

resource "helm_release" "cilium" {
  name       = "cilium"
  namespace  = "kube-system"
  repository = "https://charts.example.org/"
  chart      = "cilium"
  version    = local.cilium.version
  values     = [file("${path.module}/values/cilium.yaml"), yamlencode({ hubble = { enabled = true, password = var.admin_password } })]

  set {
    name  = "k8sServiceHost"
    value = "localhost"
  }

  depends_on = [module.talos]
}

resource "kubernetes_namespace_v1" "operators" {
  metadata { name = "operators" }
}

resource "helm_release" "own" {
  name      = "own"
  namespace = kubernetes_namespace_v1.operators.metadata[0].name
  chart     = "../charts/own"
  set = [{ name = "replicas", value = 2 }]
  depends_on = [helm_release.cilium]
}

resource "helm_release" "off" {
  count = 0
  name  = "off"
  chart = "oci://registry.example.org/charts/off"
}

resource "helm_release" "unknown" {
  for_each = data.external.apps.result
  name     = each.key
  chart    = each.value
}

resource "kubernetes_secret" "age" {
  metadata {
    name      = "sops-age"
    namespace = "flux-system"
  }
  data = { "age.agekey" = var.admin_password }
}

resource "kubectl_manifest" "pool" {
  yaml_body = <<-YAML
    apiVersion: cilium.io/v2
    kind: CiliumLoadBalancerIPPool
    metadata:
      name: pool
    spec:
      blocks: [{cidr: 10.20.30.0/28}]
  YAML
}

data "http" "gateway" {
  url = "https://charts.example.org/gateway-api/v1.4.0/standard-install.yaml"
}

data "kubectl_file_documents" "gateway" {
  content = data.http.gateway.response_body
}

resource "kubectl_manifest" "gateway_crds" {
  for_each  = data.kubectl_file_documents.gateway.manifests
  yaml_body = each.value
}

resource "flux_bootstrap_git" "this" {
  path       = "kubernetes/clusters/${var.cluster_name}"
  version    = "v2.7.2"
  depends_on = [helm_release.cilium, kubernetes_secret.age]
}

resource "terraform_data" "late" {
  provisioner "local-exec" {
    command = "helm upgrade --install late oci://registry.example.org/charts/late"
  }
}
