"""vennmf beside other packages: same data, same start, same machine, same run."""
