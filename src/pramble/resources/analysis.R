# ---- Reading the records -------------------------------------------------------------------------

# The folder of this script when it is run by Rscript; else the working directory.
folder <- local({
  file <- grep("^--file=", commandArgs(FALSE), value = TRUE)
  if (length(file)) dirname(sub("^--file=", "", file[1])) else "."
})

# Texts as they stand in a text file: numbers without exponents, true and false, nothing for missing.
as_text <- function(values) {
  text <- if (is.logical(values)) tolower(as.character(values))
    else if (is.numeric(values)) format(values, scientific = FALSE, trim = TRUE)
    else as.character(values)
  text[is.na(values)] <- ""
  gsub("\r\n?", "\n", enc2utf8(text))
}

# The paths of a file: one, or its pieces in a folder, whose names sort as they follow.
endings <- c(".csv", ".tsv", ".parquet", ".arrow")
paths_of <- function(file) {
  whole <- file.path(folder, paste0(file, endings))
  if (any(file.exists(whole))) return(whole[file.exists(whole)][1])
  pieces <- list.files(file.path(folder, file), "^part-[0-9]+[.]", full.names = TRUE)
  if (!length(pieces)) stop("There is no file ", file, ".* beside this script.")
  sort(pieces, method = "radix")
}

read_one <- function(path, columns) {
  kind <- match(sub(".*[.]", ".", path), endings)
  if (kind <= 2) {
    read.table(path, sep = c(",", "\t")[kind], quote = "\"", comment.char = "",
      colClasses = "character", na.strings = character(0), encoding = "UTF-8",
      col.names = seq_along(columns), check.names = FALSE)[-1, , drop = FALSE]
  } else if (requireNamespace("arrow", quietly = TRUE)) {
    as.data.frame((if (kind == 3) arrow::read_parquet else arrow::read_feather)(path))
  } else {
    stop("R reads ", basename(path), " through the package arrow: install.packages(\"arrow\"). ",
      "Or ask for a release with copies = [\"csv\"], which base R reads.")
  }
}

# The records as codes into `released`; NA is a blank. They are read once.
read <- new.env()
read_records <- function() {
  if (!is.null(read$codes)) return(read$codes)
  data <- do.call(rbind, lapply(paths_of(records$file), read_one, columns = records$columns))
  if (nrow(data) != rows) stop(records$file, " has ", nrow(data), " rows; released were ", rows, ".")
  names(data) <- records$columns
  for (name in intersect(names(numbers), records$columns)) {
    own <- numbers[[name]]
    data[[name]] <- own$labels[findInterval(as.numeric(data[[name]]), own$edges)]
  }
  shown <- unique(unlist(lapply(records$branches, function(b) lapply(b$blocks, `[[`, "columns"))))
  codes <- lapply(shown, function(name) match(as_text(data[[name]]), released[[name]]))
  names(codes) <- shown
  read$codes <- codes
  codes
}

# Which branch of the plan each record went through: known by the columns that are not blank.
branches_of <- function(codes) {
  shows <- function(b) unlist(lapply(b$blocks, `[[`, "columns"))
  wanted <- vapply(records$branches, function(b)
    paste(as.integer(names(codes) %in% shows(b)), collapse = ""), "")
  found <- do.call(paste0, lapply(codes, function(code) as.integer(!is.na(code))))
  branch <- match(found, wanted)
  if (anyNA(branch)) stop(records$file, " holds values that its plan cannot release.")
  branch
}

# ---- What a branch tells of a table --------------------------------------------------------------

dense <- function(m) if (is.matrix(m)) m else {
  matrix(m$off, length(m$off), length(m$off)) + diag(m$d, length(m$d))
}

# One number for each combination of codes (a column of `codes` for each name).
key_of <- function(codes, names, labels) {
  key <- rep(0, nrow(codes))
  for (name in names) key <- key * length(labels[[name]]) + codes[, name] - 1
  key
}

sums <- function(rows, onto) unname(rowsum(as.matrix(rows), onto))

# A generalised inverse of a symmetric A, scaled by `root`, and what A does not show.
inverse_of <- function(A, root, tolerance) {
  parts <- eigen(A * outer(root, root), symmetric = TRUE)
  told <- parts$values > tolerance * parts$values[1]
  kept <- parts$vectors[, told, drop = FALSE]
  list(inverse = (kept %*% (t(kept) / parts$values[told])) * outer(root, root),
    lost = parts$vectors[, !told, drop = FALSE] * root)
}

# What a block of columns tells of the wanted ones it has, or else of fewer of them.
told_by <- function(block, wanted, counts_of, steps) {
  if (is.null(mechanisms[[block$mechanism]]))
    stop("A matrix of this plan is too large for a script; take analysis.py.")
  shared <- intersect(block$columns, wanted)
  for (size in rev(seq_along(shared))) for (some in combn(shared, size, simplify = FALSE)) {
    part <- told_of(block, some, counts_of, steps)
    if (!is.null(part)) return(part)
  }
}

# Of the combinations of some columns: the released columns that count, the matrix from combinations
# to outputs, and u, which is unbiased, matrix %*% u = 1; where only sums of combinations are told, an
# orthonormal basis of them. Combinations that are randomised by a matrix of their own need nothing
# else of the output; else the whole block counts.
told_of <- function(block, shared, counts_of, steps) {
  m <- mechanisms[[block$mechanism]]
  before <- key_of(block$cells, shared, categories)
  after <- key_of(block$outputs, shared, released)
  margins <- sort(unique(before))
  onto <- match(before, margins)
  first <- match(margins, before)
  cells <- block$cells[first, shared, drop = FALSE]
  matrix <- margin_matrix(m, onto, after)
  if (!is.null(matrix)) {
    u <- tryCatch(solve(matrix), error = function(e) NULL)
    if (!is.null(u) && max(rowSums(abs(u))) < 1e6)
      return(list(needed = shared, keys = sort(unique(after)), cells = cells, matrix = matrix,
        u = u, exact = TRUE))
  }
  if (nrow(block$cells) > 3000) return(NULL)
  M <- dense(m)
  keys <- key_of(block$outputs, block$columns, released)
  counts <- counts_of(block$columns, keys)
  law <- rep(1 / nrow(M), nrow(M))
  for (step in seq_len(steps)) {
    out <- drop(law %*% M)
    scores <- t(M) / ifelse(out > 0, out, Inf)
    V <- inverse_of(M %*% scores, sqrt(law + 1e-3 / length(law)), 1e-13)
    if (step == 1) told <- told_sums(V$lost, onto)
    if (!is.null(told) && ncol(told) <= 1) return(NULL)
    G <- scores %*% V$inverse
    fitted <- law
    law <- pmax(drop(counts %*% G), 1e-12)
    law <- law / sum(law)
  }
  u <- t(sums(t(G), onto))
  if (!is.null(told)) u <- u %*% tcrossprod(told)
  list(needed = block$columns, keys = keys, cells = cells, u = u, told = told,
    matrix = sums(fitted * M, onto) / drop(sums(fitted, onto)),
    exact = max(abs(M - M[first, , drop = FALSE][onto, ])) < 1e-12)
}

# A basis of the sums of combinations that are told, given changes of cells that are not; NULL: all.
told_sums <- function(lost, onto) {
  if (!ncol(lost)) return(NULL)
  parts <- svd(sums(lost, onto), nu = max(onto))
  rank <- sum(parts$d > 1e-6)
  if (rank) parts$u[, -seq_len(rank), drop = FALSE]
}

margin_matrix <- function(m, onto, after) {
  into <- match(after, sort(unique(after)))
  S <- max(onto)
  if (max(into) != S || length(into) != length(onto)) return(NULL)
  first <- match(seq_len(S), onto)
  if (!is.matrix(m)) {
    same <- identical(m$off[first][onto], m$off) && identical(m$d[first][onto], m$d)
    if (!same || !identical(onto, into)) return(NULL)
    return(outer(m$off[first], tabulate(onto)) + diag(m$d[first], S))
  }
  whole <- tryCatch(max(rowSums(abs(solve(m)))), error = function(e) Inf)
  if (whole > 1e6) return(NULL)  # the whole block then tells more
  lumped <- t(sums(t(m), into))
  if (max(abs(lumped - lumped[first, , drop = FALSE][onto, ])) >= 1e-15 * length(onto)) return(NULL)
  lumped[first, , drop = FALSE]
}

# All that the records of one branch tell of a table: counts of its outputs, matrix and u over the
# combinations that it tells, and `onto`, the combination that each cell of the table is in.
aspect_of <- function(branch, codes, wanted, bearing, direct) {
  parts <- list()
  counts_of <- function(names, keys) {
    seen <- key_of(do.call(cbind, codes[names]), names, released)
    tabulate(match(seen, keys), length(keys))
  }
  for (block in branch$blocks) if (length(intersect(block$columns, bearing))) {
    part <- told_by(block, wanted, counts_of, if (direct) 1 else 3)
    if (!is.null(part)) parts[[length(parts) + 1]] <- part
  }
  if (!length(parts)) return(NULL)
  table <- grid(wanted)
  onto <- rep(0, nrow(table))
  place <- rep(0, length(codes[[1]]))
  M <- u <- told <- matrix(1)
  for (part in parts) {
    shared <- colnames(part$cells)
    known <- key_of(part$cells, shared, categories)
    onto <- onto * length(known) + match(key_of(table, shared, categories), known) - 1
    seen <- key_of(do.call(cbind, codes[part$needed]), part$needed, released)
    place <- place * length(part$keys) + match(seen, part$keys) - 1
    M <- kronecker(M, part$matrix)
    u <- kronecker(u, part$u)
    told <- kronecker(told, if (is.null(part$told)) diag(nrow(part$matrix)) else part$told)
  }
  list(counts = tabulate(place + 1, ncol(M)), n = length(place), matrix = M, u = u, onto = onto + 1,
    told = if (ncol(told) < nrow(told)) told,
    exact = all(vapply(parts, `[[`, TRUE, "exact")),
    needed = unique(unlist(lapply(parts, `[[`, "needed"))))
}

# All branches that tell something of a table; `n` counts the silent records too.
aspects_of <- function(wanted, bearing = wanted) {
  codes <- read_records()
  branch <- branches_of(codes)
  full <- function(block) all(block$columns %in% wanted) &&
    nrow(block$cells) == prod(lengths(categories[block$columns]))
  bears <- function(block) any(block$columns %in% bearing)
  direct <- length(records$branches) == 1 && all(vapply(records$branches[[1]]$blocks,
    function(block) !bears(block) || full(block), TRUE))
  found <- list()
  for (b in seq_along(records$branches)) if (any(branch == b)) {
    own <- lapply(codes, `[`, branch == b)
    found <- c(found, list(aspect_of(records$branches[[b]], own, wanted, bearing, direct)))
  }
  found <- Filter(Negate(is.null), found)
  if (!length(found)) stop("No branch of the plan tells ", paste(encodeString(wanted), collapse = ", "), ".")
  possible <- Reduce(`&`, lapply(found, function(a) !is.na(a$onto)))
  list(aspects = found, possible = which(possible), n = length(branch))
}

# ---- Estimates -----------------------------------------------------------------------------------

# The best linear unbiased estimate of the cells from all branches, weighed by what they tell, and
# its covariance from sampling and randomisation; of many cells their variances alone.
inverse_estimate <- function(found) {
  cells <- found$possible
  n <- found$n
  law <- rep(1 / length(cells), length(cells))
  ontos <- lapply(found$aspects, function(a) a$onto[cells])
  margin <- function(p, a, onto) drop(sums(c(p, rep(0, nrow(a$matrix))),
    c(onto, seq_len(nrow(a$matrix)))))
  one <- found$aspects[[1]]
  alone <- length(ontos) == 1 && is.null(one$told) && nrow(one$matrix) == length(cells)
  for (step in 1:3) {
    if (alone) {
      L <- list(diag(n / one$n, length(cells))[, ontos[[1]], drop = FALSE])
    } else {
      info <- Map(function(a, onto) {
        A <- crossprod(a$u, drop(margin(law, a, onto) %*% a$matrix) * a$u)
        if (is.null(a$told)) solve(A) else a$told %*% solve(t(a$told) %*% A %*% a$told, t(a$told))
      }, found$aspects, ontos)
      total <- Reduce(`+`, Map(function(a, onto, f) a$n / n * f[onto, onto, drop = FALSE],
        found$aspects, ontos, info))
      V <- inverse_of(total, 1 / sqrt(pmax(diag(total), 1e-14 * max(diag(total)))), 1e-9)
      if (ncol(V$lost)) stop("The plan cannot give this table: its cells are not all told.")
      L <- Map(function(onto, f) f[, onto, drop = FALSE] %*% V$inverse, ontos, info)
    }
    p <- Reduce(`+`, Map(function(a, l) drop((a$counts / n) %*% a$u %*% l), found$aspects, L))
    if (step < 3) {
      inside <- pmax(p, 0)
      law <- (n * inside / sum(inside) + 1 / length(p)) / (n + 1)
    }
  }
  # A record of branch b with output z counts u[z, ] L - shift: all branches have the same mean.
  silent <- 1 - sum(vapply(found$aspects, `[[`, 0, "n")) / n
  whole <- length(p) <= 600
  second <- if (whole) silent * outer(p, p) else silent * p^2
  for (b in seq_along(found$aspects)) {
    a <- found$aspects[[b]]
    shift <- drop(margin(p, a, ontos[[b]]) %*% L[[b]]) - p
    rows <- sweep(a$u %*% L[[b]], 2, shift)
    weight <- a$counts / n
    second <- second + if (whole) crossprod(rows, weight * rows) else drop(weight %*% rows^2)
  }
  if (!whole) return(list(p = p, variance = pmax(second - p^2, 0) / n))
  covariance <- (second - outer(p, p)) / n
  list(p = p, variance = pmax(diag(covariance), 0), covariance = covariance)
}

# Maximum likelihood by EM, squared steps (Varadhan and Roland 2008): the most of
# sum_z c_z log(p M)_z, to a likelihood within `gap` of the best.
maximum_likelihood <- function(blocks, cells, gap = 1e-8, most = 20000) {
  M <- do.call(cbind, lapply(blocks, function(a) a$matrix[a$onto[cells], , drop = FALSE]))
  counts <- unlist(lapply(blocks, `[[`, "counts"))
  M <- M[, counts > 0, drop = FALSE]
  counts <- counts[counts > 0]
  slope <- function(p) drop(M %*% (counts / drop(p %*% M))) / sum(counts)
  value <- function(p) sum(counts * log(drop(p %*% M)))
  p <- rep(1 / nrow(M), nrow(M))
  for (step in seq_len(most)) {
    first <- slope(p)
    if (sum(counts) * (max(first) - 1) < gap) break
    one <- p * first
    two <- one * slope(one)
    r <- one - p
    v <- two - one - r
    far <- if (sum(v^2) > 0) -sqrt(sum(r^2) / sum(v^2)) else -1
    leap <- p - 2 * far * r + far^2 * v
    leap <- if (all(leap >= 0) && sum(leap) > 0) leap / sum(leap) else two
    p <- if (isTRUE(value(leap) >= value(two))) leap else two
  }
  if (step == most) warning("Maximum likelihood stopped before it reached its tolerance.")
  p
}

# The table without negative cells that is nearest to an unbiased one, by its covariance V:
# p + V l with l >= 0 that is zero where a cell is not, found by an active set (Lawson and Hanson).
nearest_inside <- function(p, V) {
  total <- sum(p)
  if (is.null(V)) {
    from_top <- sort(p, decreasing = TRUE)
    shift <- (cumsum(from_top) - total) / seq_along(p)
    return(pmax(p - shift[max(which(from_top >= shift))], 0))
  }
  lift <- rep(0, length(p))
  held <- integer(0)
  for (step in seq_len(10 * length(p))) {
    now <- p + drop(V %*% lift)
    now[held] <- 0
    if (min(now) >= -1e-12) break
    held <- c(held, which.min(now))
    repeat {
      wanted <- -solve(V[held, held], p[held])
      if (all(wanted > 0)) break
      bad <- wanted <= 0
      share <- min((lift[held] / (lift[held] - wanted))[bad])
      lift[held] <- lift[held] + share * (wanted - lift[held])
      lift[held[lift[held] <= 1e-15 * max(lift)]] <- 0
      held <- held[lift[held] > 0]
      if (!length(held)) return(pmax(now, 0) / sum(pmax(now, 0)) * total)
    }
    lift[held] <- wanted
  }
  now <- pmax(now, 0)
  now / sum(now) * total
}

# Shares that are never negative: maximum likelihood, in the finer table of all columns that the
# needed blocks hold, since there the likelihood is known; where that has more than 500 cells, the
# table nearest to the unbiased one (minimum chi-square).
fitted_estimate <- function(wanted, found, unbiased) {
  aspects <- found$aspects
  cells <- found$possible
  p <- rep(0, nrow(grid(wanted)))
  if (all(vapply(aspects, `[[`, TRUE, "exact"))) {
    p[cells] <- maximum_likelihood(aspects, cells)
    return(p)
  }
  finer <- unique(c(wanted, unlist(lapply(aspects, `[[`, "needed"))))
  if (prod(lengths(categories[finer])) > 500) {
    p[cells] <- nearest_inside(unbiased$p, unbiased$covariance)
    return(p / sum(p))
  }
  fine <- aspects_of(finer, bearing = wanted)
  cells <- fine$possible
  q <- maximum_likelihood(fine$aspects, cells)
  table <- key_of(grid(finer)[cells, , drop = FALSE], wanted, categories)
  place <- match(table, key_of(grid(wanted), wanted, categories))
  drop(sums(c(q, p), c(place, seq_along(p))))
}

# The table of some randomised columns: for each cell the unbiased estimate with its standard error
# and the interval of 1.96 of them, and the fitted share, which is never negative.
table_of <- function(wanted) {
  unknown <- setdiff(wanted, names(categories))
  if (length(unknown)) stop("Not randomised by the plan: ", paste(encodeString(unknown), collapse = ", "), ".")
  cells <- grid(wanted)
  if (nrow(cells) > 3000) stop("A table of more than 3000 cells is too large for this script.")
  found <- aspects_of(wanted)
  unbiased <- inverse_estimate(found)
  p <- error <- rep(0, nrow(cells))
  p[found$possible] <- unbiased$p
  error[found$possible] <- sqrt(unbiased$variance)
  labels <- as.data.frame(lapply(wanted, function(name) categories[[name]][cells[, name]]),
    stringsAsFactors = FALSE)
  names(labels) <- wanted
  cbind(labels, estimate = p, standard_error = error, lower = p - 1.96 * error,
    upper = p + 1.96 * error, fitted = fitted_estimate(wanted, found, unbiased))
}

show_table <- function(wanted) {
  cat("\nShares of ", paste(encodeString(wanted), collapse = " by "), " among ", rows, " records\n", sep = "")
  tryCatch(print(table_of(wanted), digits = 4, row.names = FALSE),
    error = function(e) cat(conditionMessage(e), "\n"))
}

asked <- enc2utf8(commandArgs(TRUE))
invisible(lapply(if (length(asked)) list(asked) else shown_first, show_table))
