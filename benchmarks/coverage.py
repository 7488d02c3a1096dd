"""How often intervals, tests and stopping rules are right, where the truth is known.

    python benchmarks/coverage.py                  # lists the studies
    python benchmarks/coverage.py sobol --samples 1000

Each study is a function of `benchmarks/studies`; its arguments are the options.
"""

import argparse
import inspect

from studies import drawing, importances, interval_kinds, levels, rows

STUDIES = {
    function.__name__: function
    for module in (importances, rows, levels, drawing, interval_kinds)
    for function in module.STUDIES
}


def main():
    """Run the named study with its options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studies = parser.add_subparsers(dest="study", required=True, metavar="NAME")
    for name, study in STUDIES.items():
        options = studies.add_parser(name, help=study.__doc__.splitlines()[0])
        for option, parameter in inspect.signature(study).parameters.items():
            default = parameter.default
            flag = "--" + option.replace("_", "-")
            options.add_argument(flag, type=type(default), default=default)
    given = vars(parser.parse_args())
    STUDIES[given.pop("study")](**given)


if __name__ == "__main__":
    main()
