// Secrets are replaced again and again while clients send requests.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type MultiModel, openMultiModel, superuser, userToken } from '../../support/multi-model.ts'

const VERSION = '/_api/version'
const ROTATIONS = process.env['TEST_LONG'] ? 50 : 10
const secretOf = (number: number): string => `secret number ${number} of the rotation`

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-rotation-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Replaces a file at once, as an administrator should. */
function put(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, `${name}.tmp`), text)
  renameSync(join(folder, `${name}.tmp`), join(folder, name))
}

/** The secrets that must verify and those that must not. A secret that is being replaced is in neither list. */
interface Known {
  good: readonly number[]
  bad: readonly number[]
}

it('rotating secrets under load rejects no valid token and accepts no invalid one', async (t) => {
  const folder = createFolder(t)
  put(folder, '5-active', secretOf(0))
  const { ask, signIn } = await openMultiModel(t, { server: { 'jwt-secret': '', 'jwt-secret-folder': folder } })
  const known: Known = { good: [0], bad: [1] }
  const issued = new Map<number, string>([[0, await signIn('admin', 'adminpw')]])
  const load = startLoad(ask, known, issued)
  const reload = async (signer: number) => {
    const answer = await ask('POST', '/_admin/server/jwt', { as: superuser({}, { secret: secretOf(signer) }) })
    assert.equal(answer.status, 200, answer.body)
  }

  for (let next = 1; next <= ROTATIONS; next += 1) {
    const old = next - 1
    // the new one is added, and verifies
    known.bad = [next + 1]
    put(folder, '6-next', secretOf(next))
    await reload(old)
    known.good = [old, next]
    // it becomes the first, and signs
    renameSync(join(folder, '6-next'), join(folder, '4-active'))
    await reload(old)
    issued.set(next, await signIn('admin', 'adminpw'))
    // the old one goes
    known.good = [next]
    rmSync(join(folder, '5-active'))
    renameSync(join(folder, '4-active'), join(folder, '5-active'))
    await reload(next)
    known.bad = [old, next + 1]
    assert.deepEqual(readdirSync(folder), ['5-active'])
  }
  const { asked, problems } = await load.stop()
  assert.deepEqual(problems, [])
  assert.ok(asked > ROTATIONS * 4, `only ${asked} requests were sent meanwhile`)
})

/** Clients that send requests in loops. A response counts if the expectation did not change meanwhile. */
function startLoad(ask: MultiModel['ask'], known: Known, issued: ReadonlyMap<number, string>) {
  const problems: string[] = []
  let asked = 0
  let isOver = false
  const tryOne = async (number: number, auth: string, isExpected: () => boolean, status: number) => {
    if (!isExpected()) return
    const answer = await ask('GET', VERSION, { as: auth })
    asked += 1
    if (isExpected() && answer.status !== status) problems.push(`secret ${number}: ${answer.status}, not ${status}`)
  }
  const run = async () => {
    while (!isOver) {
      for (const number of known.good) {
        const isGood = () => known.good.includes(number)
        const secret = secretOf(number)
        await tryOne(number, superuser({}, { secret }), isGood, 200)
        await tryOne(number, userToken('admin', {}, { secret }), isGood, 200)
        const session = issued.get(number)
        if (session) await tryOne(number, session, isGood, 200)
      }
      for (const number of known.bad) {
        const secret = secretOf(number)
        await tryOne(number, superuser({}, { secret }), () => known.bad.includes(number), 401)
      }
    }
  }
  const clients = [run(), run(), run()]
  return {
    async stop() {
      isOver = true
      await Promise.all(clients)
      return { asked, problems }
    },
  }
}
