/** Runs tasks one after the other, so that each sees what the previous one has written. */
export function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.catch(() => {})
    return run
  }
}

/** Callers get the result of the run in progress, if there is one. */
export function shareRun<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    // begins later, because the work may call this function
    running ??= Promise.resolve()
      .then(work)
      .finally(() => {
        running = undefined
      })
    return running
  }
}

/** Callers get the result of the next run, which begins after the one in progress. It has the arguments of the first. */
export function shareNext<A extends unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  const inTurn = createTurns()
  let next: Promise<T> | undefined
  return (...args) => {
    next ??= inTurn(() => {
      next = undefined
      return work(...args)
    })
    return next
  }
}
