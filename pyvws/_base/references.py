"""The papers that docstrings, cases and documents cite, by key."""

from __future__ import annotations

from typing import Final

REFERENCES: Final[dict[str, str]] = {
    "vws2024": (
        "Savitsky, T. D., Hu, J. and Williams, M. R. (2024). Vector-weighted Mechanisms for "
        "Utility Maximization under Differential Privacy."
    ),
    "vws2020": (
        "Hu, J., Savitsky, T. D. and Williams, M. R. (2020). Re-weighting of Vector-weighted "
        "Mechanisms for Utility Maximization under Differential Privacy."
    ),
    "risk2024": (
        "Hu, J., Savitsky, T. D. and Williams, M. R. (2024). Risk-Efficient Bayesian Data "
        "Synthesis for Privacy Protection, with its supplement."
    ),
    "global2022": (
        "Hu, J., Williams, M. R. and Savitsky, T. D. (2022). Mechanisms for Global Differential "
        "Privacy under Bayesian Data Synthesis."
    ),
    "nist2025": (
        "Near, J. P., Darais, D., Lefkovitz, N. and Howarth, G. S. (2025). Guidelines for "
        "Evaluating Differential Privacy Guarantees. NIST Special Publication 800-226."
    ),
    "nist2023": (
        "Task, C., Bhagat, K. and Howarth, G. S. (2023). SDNist v2: Deidentified Data Report Tool. "
        "National Institute of Standards and Technology, doi:10.18434/mds2-2943."
    ),
    "wasserman2010": (
        "Wasserman, L. and Zhou, S. (2010). A Statistical Framework for Differential Privacy. "
        "Journal of the American Statistical Association 105, 375-389."
    ),
    "hyndman1996": (
        "Hyndman, R. J. and Fan, Y. (1996). Sample Quantiles in Statistical Packages. "
        "The American Statistician 50, 361-365."
    ),
    "hoffman2014": (
        "Hoffman, M. D. and Gelman, A. (2014). The No-U-Turn Sampler: Adaptively Setting Path "
        "Lengths in Hamiltonian Monte Carlo. Journal of Machine Learning Research 15, 1593-1623."
    ),
    "betancourt2017": (
        "Betancourt, M. (2017). A Conceptual Introduction to Hamiltonian Monte Carlo. "
        "arXiv:1701.02434."
    ),
    "psis2024": (
        "Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto Smoothed "
        "Importance Sampling. Journal of Machine Learning Research 25(72), 1-58."
    ),
    "lkj2009": (
        "Lewandowski, D., Kurowicka, D. and Joe, H. (2009). Generating random correlation "
        "matrices based on vines and extended onion method. Journal of Multivariate Analysis 100."
    ),
    "woo2009": (
        "Woo, M.-J., Reiter, J. P., Oganian, A. and Karr, A. F. (2009). Global Measures of Data "
        "Utility for Microdata Masked for Disclosure Limitation. "
        "Journal of Privacy and Confidentiality 1."
    ),
    "cramer1946": (
        "Cramer, H. (1946). Mathematical Methods of Statistics. Princeton University Press."
    ),
    "kruskal1952": (
        "Kruskal, W. H. and Wallis, W. A. (1952). Use of Ranks in One-Criterion Variance Analysis. "
        "Journal of the American Statistical Association 47, 583-621."
    ),
    "hornby2021": (
        "Hornby, R. and Hu, J. (2021). Identification Risk Evaluation of Continuous Synthesized "
        "Variables. Transactions on Data Privacy 14."
    ),
    "matsumoto1998": (
        "Matsumoto, M. and Nishimura, T. (1998). Mersenne Twister: A 623-dimensionally "
        "Equidistributed Uniform Pseudo-random Number Generator. "
        "ACM Transactions on Modeling and Computer Simulation 8, 3-30."
    ),
    "reiter2003": (
        "Reiter, J. P. (2003). Inference for Partially Synthetic, Public Use Microdata Sets. "
        "Survey Methodology 29, 181-188."
    ),
    "reiter2002": (
        "Reiter, J. P. (2002). Satisfying Disclosure Restrictions with Synthetic Data Sets. "
        "Journal of Official Statistics 18, 531-543."
    ),
    "raghunathan2003": (
        "Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003). Multiple Imputation for "
        "Statistical Disclosure Limitation. Journal of Official Statistics 19, 1-16."
    ),
    "karr2006": (
        "Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). "
        "A Framework for Evaluating the Utility of Data Altered to Protect Confidentiality. "
        "The American Statistician 60, 224-232."
    ),
    "snoke2018": (
        "Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and "
        "Specific Utility Measures for Synthetic Data. "
        "Journal of the Royal Statistical Society, Series A 181, 663-688."
    ),
    "raab2021": (
        "Raab, G. M., Nowok, B. and Dibben, C. (2021). Assessing, Visualizing and Improving the "
        "Utility of Synthetic Data. arXiv:2109.12717."
    ),
    "raab2024": (
        "Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical Privacy Metrics for Synthetic "
        "Data. arXiv:2406.16826."
    ),
    "gower1971": (
        "Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. "
        "Biometrics 27, 857-871."
    ),
    "lumley2004": (
        "Lumley, T. (2004). Analysis of Complex Survey Samples. "
        "Journal of Statistical Software 9(8), 1-19."
    ),
    "tabular2021": (
        "Hu, J., Savitsky, T. D. and Williams, M. R. (2021). Private Tabular Survey Data Products "
        "through Synthetic Microdata Generation. arXiv:2101.06188."
    ),
    "mccullagh1989": (
        "McCullagh, P. and Nelder, J. A. (1989). Generalized Linear Models, second edition. "
        "Chapman and Hall, London."
    ),
    "ahrens1972": (
        "Ahrens, J. H. and Dieter, U. (1972). Computer Methods for Sampling from the Exponential "
        "and Normal Distributions. Communications of the ACM 15, 873-882."
    ),
    "ahrens1974": (
        "Ahrens, J. H. and Dieter, U. (1974). Computer Methods for Sampling from Gamma, Beta, "
        "Poisson and Binomial Distributions. Computing 12, 223-246."
    ),
    "gd1982": (
        "Ahrens, J. H. and Dieter, U. (1982). Generating Gamma Variates by a Modified Rejection "
        "Technique. Communications of the ACM 25, 47-54."
    ),
    "pd1982": (
        "Ahrens, J. H. and Dieter, U. (1982). Computer Generation of Poisson Deviates from "
        "Modified Normal Distributions. ACM Transactions on Mathematical Software 8, 163-179."
    ),
    "cheng1978": (
        "Cheng, R. C. H. (1978). Generating Beta Variates with Nonintegral Shape Parameters. "
        "Communications of the ACM 21, 317-322."
    ),
    "btpe1988": (
        "Kachitvichyanukul, V. and Schmeiser, B. W. (1988). Binomial Random Variate Generation. "
        "Communications of the ACM 31, 216-222."
    ),
    "wichura1988": (
        "Wichura, M. J. (1988). Algorithm AS 241: The Percentage Points of the Normal "
        "Distribution. Applied Statistics 37, 477-484."
    ),
    "ripley1987": ("Ripley, B. D. (1987). Stochastic Simulation. Wiley, New York."),
    "williams1964": (
        "Williams, J. W. J. (1964). Algorithm 232: Heapsort. Communications of the ACM 7, 347-348."
    ),
    "venables2002": (
        "Venables, W. N. and Ripley, B. D. (2002). Modern Applied Statistics with S. "
        "Springer, New York."
    ),
}
