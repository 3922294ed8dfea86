// One Cardea process, on ports of its own, so that it comes back at the same address after it was killed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const CARDEA = fileURLToPath(new URL('../../../bin/cardea', import.meta.url))
/** The same in few files (scripts/test-bundle.ts), which `npm test` has: a deliberate bug needs the sources. */
const BUNDLED = process.env['TEST_PROGRAM'] ?? CARDEA
const MAX_START_MS = 60_000
const MAX_KEPT_OUTPUT = 20_000

export class Node {
  readonly name: string
  readonly document: string
  readonly multiModel: string
  isRunning = false
  startedAt = 0
  #child
  #output = ''
  #settings

  /** `name`, `folder` of the configuration, `ports` of the two doors, `env`, `clock`: the file that shifts its clock. */
  constructor(settings) {
    this.#settings = settings
    this.name = settings.name
    this.document = `http://127.0.0.1:${settings.ports[0]}`
    this.multiModel = `http://127.0.0.1:${settings.ports[1]}`
  }

  get output() {
    return this.#output
  }

  async start() {
    const { folder, ports, env } = this.#settings
    const place = [
      ...['--chttpd.port', ports[0], '--server.endpoint', `tcp://127.0.0.1:${ports[1]}`],
      ...['--node.name', `soak-${ports[0]}@127.0.0.1`],
    ]
    const program = env.NODE_OPTIONS === undefined ? BUNDLED : CARDEA
    this.#child = spawn(process.execPath, [program, 'serve', '--config', folder, ...place.map(String)], {
      cwd: folder,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#output = `${this.#output}${text}`.slice(-MAX_KEPT_OUTPUT)
    })
    try {
      await this.#waitUntilListening()
    } catch (error) {
      this.#child.kill('SIGKILL')
      throw error
    }
    this.isRunning = true
    this.startedAt = Date.now()
  }

  async #waitUntilListening() {
    const child = this.#child
    const deadline = Date.now() + MAX_START_MS
    this.#output = ''
    while (!this.#output.includes('"msg":"listening"')) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${this.name} did not start: ${this.#output}`)
      await pause(20)
    }
  }

  shiftClock(seconds: number) {
    writeFileSync(this.#settings.clock, String(seconds * 1000))
  }

  hangUp() {
    if (this.isRunning) this.#child.kill('SIGHUP')
  }

  async kill(signal = 'SIGKILL') {
    if (!this.isRunning) return
    const crash = this.findCrash()
    this.isRunning = false
    if (crash) throw new Error(crash)
    const ended = once(this.#child, 'exit')
    this.#child.kill(signal)
    await ended
  }

  /** A process that ended by itself has crashed. */
  findCrash() {
    if (!this.isRunning || this.#child.exitCode === null) return undefined
    return `${this.name} ended with ${this.#child.exitCode}: ${this.#output.slice(-2000)}`
  }
}
