"""The dashboard: pages for statisticians, sites, auditors and administrators, and the rehearsal that fills them."""
