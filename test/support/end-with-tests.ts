/**
 * Loaded before every test file by scripts/test.mjs. A file whose tests have ended, but whose process is kept alive by a
 * socket, a timer or a process left open, fails and names what is open. Without this, the run would wait for ever.
 */
import { after } from 'node:test'

const LIMIT_MS = 60_000

after(() => {
  setTimeout(() => {
    console.error(`${process.argv[1]}: the tests have ended, but these are open: ${process.getActiveResourcesInfo()}`)
    process.exit(1)
  }, LIMIT_MS).unref()
})
