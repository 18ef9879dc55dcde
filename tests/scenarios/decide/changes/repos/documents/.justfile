set shell := ['bash', '-euo', 'pipefail', '-c']

mod talos "talos"

render file *args:
    minijinja-cli {{ args }} "{{ file }}"
