"""The commands and their options. Each hands over to a module that is imported only when the command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vennmf.cli.output import AsCsv, AsJson, AsParquet, Form

app = typer.Typer(
    name="vennmf",
    help="What your sources share, and what is theirs alone.\n\n"
    "Fit shared and private topics of several collections, then search, cluster and encode with them.",
    epilog="Start with: vennmf demo. Everywhere: -v says more, --debug shows the traceback of a failure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

SEEDS = 2**32 - 1
"""The largest seed that NumPy takes."""

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that vennmf fit wrote.", show_default=False)]
Source = Annotated[str | None, typer.Option("--source", "-s", help="One source; all without it.", show_default=False)]
Data = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="NAME=FILE", help="The source's file, for the exact match.", show_default=False),
]
Part = Annotated[str, typer.Option(help="Columns to compare: all, shared or private.")]

Recipe = Annotated[Path | None, typer.Argument(help="A recipe in TOML; flags override it.", show_default=False)]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", "-s", metavar="NAME=FILE", help="A source and its file.", show_default=False),
]
Text = Annotated[str | None, typer.Option(help="Column of running text.", show_default=False)]
Tags = Annotated[str | None, typer.Option(help="Column of tags.", show_default=False)]
Item = Annotated[str | None, typer.Option(help="Column of ids.", show_default=False)]
Weight = Annotated[
    str | None, typer.Option(help="Column of weights, in a table of one (item, tag, weight) a row.", show_default=False)
]
SplitTags = Annotated[str | None, typer.Option(help="What joined tags are split at.", show_default=False)]
MinCount = Annotated[int | None, typer.Option(help="Items that must have a word.", show_default=False)]
StopWords = Annotated[str | None, typer.Option(help="english, or a file with a word a line.", show_default=False)]
DropRepeated = Annotated[
    int | None, typer.Option(help="Leave out sentences that so many items have.", show_default=False)
]


def _version(asked: bool) -> None:
    if asked:
        from vennmf import __version__

        typer.echo(f"vennmf {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more on stderr.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """What your sources share, and what is theirs alone."""


@app.command(
    epilog="[bold]Examples[/bold]\n\n"
    "vennmf fit news.toml --init --source bbc=bbc.jsonl --source cnn=cnn.parquet\n\n"
    "vennmf fit news.toml -o news.venn\n\n"
    "vennmf fit --source bbc=bbc.jsonl --source cnn=cnn.parquet --text text --item id "
    "--n-components 50 --n-shared 34 --seed 0 -o news.venn"
)
def fit(
    recipe: Recipe = None,
    source: Sources = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the model goes.", show_default=False)
    ] = None,
    text: Text = None,
    tags: Tags = None,
    item: Item = None,
    weight: Weight = None,
    split_tags: SplitTags = None,
    min_count: MinCount = None,
    stop_words: StopWords = None,
    drop_repeated: DropRepeated = None,
    method: Annotated[str | None, typer.Option(help="RJSNMF, JSNMF, NMF or VennNMF.", show_default=False)] = None,
    n_components: Annotated[
        str | None, typer.Option(help="Topics of each source: 50, or bbc=50,cnn=60.", show_default=False)
    ] = None,
    n_shared: Annotated[int | None, typer.Option(help="Topics that all sources share.", show_default=False)] = None,
    orthogonality: Annotated[
        float | None, typer.Option(help="How strictly parts are kept apart.", show_default=False)
    ] = None,
    max_iter: Annotated[int | None, typer.Option(help="Iterations at most.", show_default=False)] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds at most.", show_default=False)] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEEDS, help="Seed of everything random.", show_default=False)
    ] = None,
    init: Annotated[bool, typer.Option("--init", help="Write a recipe from a look at the files, and stop.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Forecast time and memory, and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Fit shared and private topics of several sources."""
    from vennmf.cli import fit as command

    read = command.reading(text, tags, item, weight, split_tags, min_count, stop_words, drop_repeated)
    model = {
        "n_components": n_components,
        "n_shared": n_shared,
        "orthogonality": orthogonality,
        "max_iter": max_iter,
        "time_limit": time_limit,
        "random_state": seed,
    }
    form = Form.of(as_json, as_csv, as_parquet)
    flags = command.Flags(recipe, source or [], output, method, read, model, force)
    if init:
        command.write_recipe(flags)
    elif dry_run:
        from vennmf.cli.forecast import forecast

        given = flags.merged()
        forecast(given, command.load(given), form)
    else:
        command.fit(flags, form)


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf ranks news.toml\n\n"
    "vennmf ranks --source bbc=bbc.jsonl --source cnn=cnn.parquet --text text --state ranks.json --curves --csv"
)
def ranks(
    recipe: Recipe = None,
    source: Sources = None,
    text: Text = None,
    tags: Tags = None,
    item: Item = None,
    weight: Weight = None,
    split_tags: SplitTags = None,
    min_count: MinCount = None,
    stop_words: StopWords = None,
    drop_repeated: DropRepeated = None,
    max_components: Annotated[int, typer.Option(min=1, help="Largest number of topics tried.")] = 50,
    folds: Annotated[int, typer.Option(min=2, help="Parts that are held out in turn.")] = 5,
    state: Annotated[
        Path | None, typer.Option(help="Keep what is found here; a broken-off search goes on.", show_default=False)
    ] = None,
    curves: Annotated[bool, typer.Option("--curves", help="The error at every rank tried.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=SEEDS, help="Seed of everything random.")] = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Suggest how many topics each source has, and how many all share."""
    from vennmf.cli import fit as command
    from vennmf.cli import ranks as suggestion

    form = Form.of(as_json, as_csv, as_parquet)
    read = command.reading(text, tags, item, weight, split_tags, min_count, stop_words, drop_repeated)
    flags = command.Flags(recipe, source or [], None, None, read, {}, False)
    suggestion.ranks(flags, max_components, folds, state, curves, seed, form)


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf topics news.venn\n\nvennmf topics news.venn --block shared --long --csv"
)
def topics(
    model: ModelFile,
    top: Annotated[int, typer.Option(min=1, help="Words of each topic.")] = 8,
    block: Annotated[str | None, typer.Option(help="One block only.", show_default=False)] = None,
    long: Annotated[bool, typer.Option("--long", help="A row for each word, with weight and exclusivity.")] = False,
    items: Annotated[bool, typer.Option("--items", help="The items that each topic says most about.")] = False,
    by_item: Annotated[bool, typer.Option("--by-item", help="The topics that each item uses.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Show what the topics say, and how much of each source they carry."""
    from vennmf.cli import ask

    ways = {"long": long, "items": items, "by-item": by_item}
    ask.topics(model, top, block, [way for way, asked in ways.items() if asked], Form.of(as_json, as_csv, as_parquet))


@app.command(
    epilog="[bold]Examples[/bold]\n\n"
    'vennmf search news.venn "climate summit" --source bbc --top 20\n\n'
    'vennmf search news.venn "climate summit" --source cnn --via bbc\n\n'
    "vennmf search news.venn --like 4711 --source bbc --in cnn"
)
def search(
    model: ModelFile,
    query: Annotated[
        list[str] | None, typer.Argument(help="Words; each argument is one query.", show_default=False)
    ] = None,
    source: Source = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Hits of each query.")] = 10,
    part: Part = "all",
    via: Annotated[
        str | None,
        typer.Option(help="Read the query as this source would; compare what both share.", show_default=False),
    ] = None,
    like: Annotated[str | None, typer.Option(help="An item of --source instead of words.", show_default=False)] = None,
    within: Annotated[
        str | None, typer.Option("--in", help="With --like: search this source.", show_default=False)
    ] = None,
    exact: Annotated[
        float | None, typer.Option(min=0, max=1, help="Weight of the exact match; needs --data.", show_default=False)
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Find items by words or by an example, and say why."""
    from vennmf.cli import ask

    form = Form.of(as_json, as_csv, as_parquet)
    wanted = ask.Search(source, top, part, via, like, within, exact, data or [])
    ask.search(model, query or [], wanted, form)


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf cluster news.venn -k 8\n\n"
    "vennmf cluster news.venn -k bbc=8,cnn=12 --space shared --labels section\n\n"
    "vennmf cluster news.venn -k 8 --labels section --common"
)
def cluster(
    model: ModelFile,
    k: Annotated[str, typer.Option("-k", "--n-clusters", help="Clusters of each source: 8, or bbc=8,cnn=12.")] = "8",
    space: Annotated[str, typer.Option(help="all, shared or private.")] = "all",
    source: Source = None,
    together: Annotated[
        bool, typer.Option("--together", help="One numbering for all sources; needs --space shared.")
    ] = False,
    items: Annotated[bool, typer.Option("--items", help="A row for each item.")] = False,
    labels: Annotated[
        str | None, typer.Option(help="Metadata column with known classes, to measure against.", show_default=False)
    ] = None,
    common: Annotated[
        bool, typer.Option("--common", help="With --labels: which classes are common to the sources.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=SEEDS, help="Seed of k-means.")] = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Cluster the items of each source."""
    from vennmf.cli import ask

    wanted = ask.Clustering(k, space, source, together, items, labels, common, seed)
    ask.cluster(model, wanted, Form.of(as_json, as_csv, as_parquet))


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf encode news.venn new.jsonl --source bbc\n\n"
    "vennmf encode news.venn new.jsonl --source bbc --append -o grown.venn"
)
def encode(
    model: ModelFile,
    data: Annotated[
        str, typer.Argument(help="New items of the source: a file as it was fitted on.", show_default=False)
    ],
    source: Annotated[str, typer.Option("--source", "-s", help="The source they belong to.", show_default=False)],
    top: Annotated[int, typer.Option(min=1, help="Topics of each item.")] = 3,
    encodings: Annotated[bool, typer.Option("--encodings", help="All components instead of the strongest.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Add the items to the model; needs -o.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the grown model goes.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Encode new items, and say how far they have drifted from those of the fit."""
    from vennmf.cli import ask

    ask.encode(model, data, source, top, encodings, append, output, force, Form.of(as_json, as_csv, as_parquet))


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf tag photos.venn new.jsonl --source flickr\n\n"
    "vennmf tag tagger.venn features.parquet --item id --top 10"
)
def tag(
    model: ModelFile,
    data: Annotated[
        str,
        typer.Argument(help="New items: a file as it was fitted on; for PJMF a table of features.", show_default=False),
    ],
    source: Annotated[
        str | None, typer.Option("--source", "-s", help="The source they belong to.", show_default=False)
    ] = None,
    item: Annotated[str | None, typer.Option(help="Column of ids in a table of features.", show_default=False)] = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Tags of each item.")] = 5,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Suggest tags for new items, and say which topic brings them."""
    from vennmf.cli import tag as command

    command.tag(model, data, source, item, top, Form.of(as_json, as_csv, as_parquet))


@app.command(epilog="[bold]Examples[/bold]\n\nvennmf compare monday.venn tuesday.venn")
def compare(
    model: ModelFile,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="The model to compare with.", show_default=False)],
    words: Annotated[int, typer.Option(min=1, help="Words of each topic.")] = 4,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Match the topics of two models one to one."""
    from vennmf.cli import compare as command

    command.compare(model, other, words, Form.of(as_json, as_csv, as_parquet))


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf evaluate news.venn --qrels judged.csv --source bbc\n\n"
    "judged.csv has the columns query, item and, if you like, relevance (0 is not relevant)."
)
def evaluate(
    model: ModelFile,
    qrels: Annotated[Path, typer.Option("--qrels", help="Queries and their relevant items.", show_default=False)],
    source: Annotated[str, typer.Option("--source", "-s", help="The source that is searched.", show_default=False)],
    data: Data = None,
    by_query: Annotated[bool, typer.Option("--by-query", help="A row for each query.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Measure the search on your own relevance judgements."""
    from vennmf.cli import judge

    judge.evaluate(model, qrels, source, data or [], by_query, Form.of(as_json, as_csv, as_parquet))


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf report news.venn -o news.html\n\nvennmf report news.venn -k bbc=8,cnn=12 -o news.md"
)
def report(
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page: .html with figures, or .md.", show_default=False)
    ],
    k: Annotated[str, typer.Option("-k", "--n-clusters", help="Clusters of each source: 8, or bbc=8,cnn=12.")] = "8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite.")] = False,
) -> None:
    """Write one page on a model: what is shared, topics, their items, clusters, how the fit went."""
    from vennmf.cli import report as command

    command.report(model, output, k, force)


@app.command(
    epilog="[bold]Examples[/bold]\n\nvennmf datasets\n\nvennmf datasets orl_faces\n\n"
    "vennmf datasets news_channels_2017 --to news/"
)
def datasets(
    name: Annotated[str | None, typer.Argument(help="One data set: what it is and whose.", show_default=False)] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Load it, from the network where needed, into the cache.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Write its sources as files into this folder, to fit them.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """List the named data sets."""
    from vennmf.cli import data as command

    command.datasets(name, fetch, to, Form.of(as_json, as_csv, as_parquet))


@app.command()
def demo(
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the explorer, where there is one.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Use planted data, no network.")] = False,
) -> None:
    """Real news of BBC and CNN: what both report, what only one does, a search with its reasons, clusters."""
    from vennmf.cli import demo as command

    command.demo(no_open=no_open, offline=offline)


@app.command(epilog="[bold]Examples[/bold]\n\nvennmf reproduce\n\nvennmf reproduce rec-talk --quick -o reports/")
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Which; without any, the list.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every experiment.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the reports.")] = Path("reports"),
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_parquet: AsParquet = False,
) -> None:
    """Run the papers' experiments on real data and write a report of each, with what holds and what does not."""
    from vennmf.cli import reproduce as command

    command.reproduce(names or [], everything, quick, output, Form.of(as_json, as_csv, as_parquet))
