/** Aborted by the first interrupt; the second ends the process as it would have without this. */
export function catchInterrupt(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const onInterrupt = () => {
    release()
    controller.abort()
  }
  const release = () => {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt)
  }
  process.on('SIGINT', onInterrupt).on('SIGTERM', onInterrupt)
  return { signal: controller.signal, release }
}
