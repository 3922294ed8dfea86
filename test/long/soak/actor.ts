// One user and the requests about it, one at a time: the only writer of its record, so that every write is accounted for.
import { ask, basic } from './ask.ts'
import { Credentials } from './credentials.ts'
import { ADMIN } from './testbed.ts'

const AS_ADMIN = { Authorization: basic(ADMIN) }

export class Actor {
  readonly name: string
  password: string | undefined
  /** When the last request was sent. */
  askedMs = 0
  #run
  #credentials
  /** The number of the last acknowledged write, and of the last one that was tried. */
  #acknowledged = 0
  #tried = 0
  /** The last change and the node that acknowledged it. */
  #changed = { at: 0, node: undefined }
  /** When a change was last not confirmed: it may still happen, even after the next one. */
  #undecidedAt = 0
  #passwords = 0
  #isGranted = false

  /** `run`: `testbed`, `ledger`, `random`, `graceMs`. */
  constructor(name: string, run) {
    this.name = name
    this.#run = run
    this.#credentials = new Credentials(this, run)
  }

  get changedAt() {
    return this.#changed.at
  }

  /** Whether this node must know every acknowledged change. */
  isSettled(node) {
    const isOver = (at) => Date.now() - at > this.#run.graceMs
    return isOver(this.#undecidedAt) && (this.#changed.node === node || isOver(this.#changed.at))
  }

  async ask(base, request) {
    const { ledger } = this.#run
    this.askedMs = performance.now()
    const reply = await ask(base, request)
    ledger.count('requests')
    ledger.count(`status ${reply.status === 0 ? 'none' : reply.status}`)
    if (reply.status === 500) ledger.violate('status 500', `${request.method ?? 'GET'} ${request.path}`)
    return reply
  }

  /** One random action. Without a known password, sets a new one first. */
  async act() {
    const { random, testbed } = this.#run
    const node = random.pick(testbed.nodes)
    const action = random.pick(ACTIONS)
    if (this.password === undefined) await this.#write(node, { isNewPassword: true })
    else if (!this.#isGranted) await this.#grant(node)
    else await action(this, node)
  }

  open = (node) => this.#credentials.open(node)
  use = (node) => this.#credentials.useAny(node)
  signOut = (node) => this.#credentials.endOne(node)
  write = (node) => this.#write(node, {})
  changePassword = (node) => this.#write(node, { isNewPassword: true })
  forge = (node) => this.#credentials.tryForged(node, `not ${this.password}`)

  async signOutEverywhere(node) {
    const path = `/_cardea/api/users/${this.name}/sign-out`
    const { status, isUndecided } = await this.ask(node.document, { method: 'POST', path, headers: AS_ADMIN, body: {} })
    if (status !== 200 && !isUndecided) return
    const confirmedBy = isUndecided ? undefined : node
    this.#noteChange(confirmedBy)
    this.#credentials.endAll(confirmedBy)
  }

  /** Without a grant the multi-model door forwards nothing. */
  async #grant(node) {
    const path = `/_api/user/${this.name}/database/_system`
    const { status } = await this.ask(node.multiModel, {
      method: 'PUT',
      path,
      headers: AS_ADMIN,
      body: { grant: 'rw' },
    })
    this.#isGranted = status === 200
    this.#noteChange(this.#isGranted ? node : undefined)
  }

  /** `node` confirmed the change; `undefined`: none did, but the change may have happened. */
  #noteChange(node) {
    this.#changed = { at: Date.now(), node }
    if (!node) this.#undecidedAt = Date.now()
  }

  /** Reads the record, checks that no acknowledged write is missing, and writes the next number. */
  async #write(node, { isNewPassword = false }) {
    const found = await this.#read(node)
    if (!found) return
    const number = this.#tried + 1
    const password = isNewPassword ? `password ${++this.#passwords} of ${this.name}` : undefined
    this.#tried = number
    const body = { ...found.json, name: this.name, type: 'user', roles: [], number, ...(password && { password }) }
    if (found.status === 404) for (const member of ['error', 'reason']) delete body[member]
    const reply = await this.ask(node.document, { method: 'PUT', path: this.#path, headers: AS_ADMIN, body })
    if (reply.status === 201) this.#noteWritten(node, number, password)
    else if (reply.isUndecided) this.#noteUndecided(password)
  }

  #noteWritten(node, number, password) {
    this.#acknowledged = number
    this.#noteChange(node)
    this.#run.ledger.count('writes acknowledged')
    if (password === undefined) return
    this.#credentials.endAll(node)
    this.password = password
  }

  /** The write may have happened: a password that may no longer be right is replaced next. */
  #noteUndecided(password) {
    this.#noteChange(undefined)
    if (password === undefined) return
    this.#credentials.endAll(undefined)
    this.password = undefined
  }

  get #path() {
    return `/_users/org.couchdb.user:${this.name}`
  }

  async #read(node) {
    const isSettled = this.isSettled(node)
    const reply = await this.ask(node.document, { path: this.#path, headers: AS_ADMIN })
    if (reply.status !== 200 && reply.status !== 404) return undefined
    const number = reply.json?.number ?? 0
    this.#run.ledger.count('records read')
    if (isSettled && number < this.#acknowledged)
      this.#run.ledger.violate(
        'lost write',
        `${this.name} at ${node.name}: ${this.#acknowledged} was acknowledged, ${number} is there`,
      )
    return reply
  }

  /** At the end, when nothing is under way: every record and every credential, on every node. */
  async verify() {
    for (const node of this.#run.testbed.nodes) {
      if (!(await this.#read(node))) this.#run.ledger.violate('no record at the end', `${this.name} at ${node.name}`)
      await this.#credentials.useEach(node)
    }
  }
}

/** Frequent ones are listed more often. */
const ACTIONS = [
  ...Array(3).fill((actor, node) => actor.open(node)),
  ...Array(8).fill((actor, node) => actor.use(node)),
  ...Array(3).fill((actor, node) => actor.write(node)),
  ...Array(2).fill((actor, node) => actor.signOut(node)),
  (actor, node) => actor.changePassword(node),
  (actor, node) => actor.signOutEverywhere(node),
  ...Array(2).fill((actor, node) => actor.forge(node)),
]
