/**
 * Called by scripts/test-groups.ts after the last test of a process. If a socket, a timer or a process left open keeps
 * the process alive, it fails and names what is open. Without this, the run would wait for ever.
 */
const LIMIT_MS = 60_000

export function endWithTests(files: readonly string[]): void {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo()
    console.error(`the tests have ended, but these are open: ${open}. One of: ${files.join(', ')}`)
    process.exit(1)
  }, LIMIT_MS).unref()
}
