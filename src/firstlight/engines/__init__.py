"""What differs between Flux and Argo CD: marks, roots, directives, controllers."""
