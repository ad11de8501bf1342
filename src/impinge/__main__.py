"""`python -m impinge`."""

import sys

from impinge.cli import main

sys.exit(main())
