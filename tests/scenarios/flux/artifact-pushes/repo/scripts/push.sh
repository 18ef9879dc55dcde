#!/bin/sh
flux push artifact "oci://registry.example.org/team/rendered:latest" --path="./out" --source=. --revision=main
flux push artifact "oci://registry.example.org/team/chosen:latest" --path="./$1" --source=. --revision=main
oras push registry.example.org/team/files:latest deploy/
