"""Why a cluster does not work: looked at as far as it answers, judged by rules, told for all of it or for one thing."""
