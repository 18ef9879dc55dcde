#!/usr/bin/env -S just --justfile

set quiet
set shell := ['bash', '-euo', 'pipefail', '-c']

mod bootstrap "bootstrap"
mod? nothing
import 'common.just'

kubernetes_dir := justfile_dir() / "kubernetes"
version := "1." + "2"

[private]
default:
    just --list

# Fill a template with secrets
[private]
template file *args:
    minijinja-cli "{{ file }}" {{ args }} | op inject

deploy-store ns="secrets":
    helm upgrade --install store oci://registry.example.org/charts/store \
        --version {{ version }} --namespace {{ ns }} -f {{ kubernetes_dir }}/apps/store/values.yaml

destroy:
    kubectl delete namespace secrets
