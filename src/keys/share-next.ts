/**
 * One run at a time and at most one waiting, which all who ask meanwhile share. So what is answered is always what a
 * run found that began after the call.
 */
export function shareNext<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined
  let waiting: Promise<T> | undefined
  const start = () => {
    waiting = undefined
    const current = run()
    const settled = () => {
      running = undefined
    }
    running = current.then(settled, settled)
    return current
  }
  return () => {
    if (running === undefined) return start()
    waiting ??= running.then(start)
    return waiting
  }
}
