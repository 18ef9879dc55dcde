#!/bin/bash
f() { f; kubectl apply -f "$1"; }
f a.yaml
bootstrap() { kubectl apply -f - <<EOF
kind: [
EOF
}
bootstrap; fi; done; }; ) esac
helm install a ./b "never closed
