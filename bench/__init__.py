"""Speed, as ratios against peers and floors measured in the same run: ``make bench``."""
