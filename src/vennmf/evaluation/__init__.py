"""How good the results are: measures and protocols."""

from vennmf.evaluation.clustering import (
    average_cluster_entropy,
    cluster_purity,
    clustering_accuracy,
    clustering_scores,
    nmi,
    purity_ratios,
    quality_by_class,
)
from vennmf.evaluation.factors import hoyer_sparsity
from vennmf.evaluation.protocols import (
    Fold,
    FTest,
    bootstrap_interval,
    f_test_5x2,
    five_by_two,
    repeated,
    summary,
)
from vennmf.evaluation.retrieval import (
    average_precision,
    evaluate_rankings,
    interpolated_precision,
    mean_average_precision,
    ndcg,
    precision_at,
    precision_at_recall,
    precision_recall,
    ranking,
)
from vennmf.evaluation.search import Choice, choose_weight, evaluate_search
from vennmf.evaluation.sharing import Sharing, SharingChoice, choose_sharing
from vennmf.evaluation.tagging import TagScores, tag_scores

__all__ = [
    "Choice",
    "FTest",
    "Fold",
    "Sharing",
    "SharingChoice",
    "TagScores",
    "average_cluster_entropy",
    "average_precision",
    "bootstrap_interval",
    "choose_sharing",
    "choose_weight",
    "cluster_purity",
    "clustering_accuracy",
    "clustering_scores",
    "evaluate_rankings",
    "evaluate_search",
    "f_test_5x2",
    "five_by_two",
    "hoyer_sparsity",
    "interpolated_precision",
    "mean_average_precision",
    "ndcg",
    "nmi",
    "precision_at",
    "precision_at_recall",
    "precision_recall",
    "purity_ratios",
    "quality_by_class",
    "ranking",
    "repeated",
    "summary",
    "tag_scores",
]
