// The secrets that sign and verify, by their hashes. No operation returns a secret.
import { Refusal } from '../../../base/errors.ts'
import { confirmChange } from '../../../directory/confirm-change.ts'
import { createSecretText } from '../../../keys/new-secret.ts'
import type { StepName } from '../../../keys/rotate-secret.ts'
import { FLAG, findArgument, findText, readMembers, requireText } from '../json.ts'
import type { Operation } from '../operation.ts'

const STEPS: readonly StepName[] = ['add', 'activate', 'retire']
const TAKEN: readonly string[] = ['added', 'activated', 'removed']

function requireTaken(step: string): string {
  if (TAKEN.includes(step)) return step
  throw new Refusal('bad_request', { about: `step must be one of ${TAKEN.join(', ')}.` })
}

export const SECRET_OPERATIONS = {
  'secret.list': {
    method: 'GET',
    path: '/secrets',
    run: async ({ secrets }) => ({ rings: await secrets.list(), rotation: await secrets.findRotation() }),
  },
  'secret.reload': {
    method: 'POST',
    path: '/secrets/reload',
    run: async ({ secrets }) => ({ reloaded: await secrets.reload() }),
  },
  'secret.rotate': {
    method: 'POST',
    path: '/secrets/rotation',
    async run({ secrets }, { body }) {
      const members = readMembers(body, ['step', 'force'])
      const step = STEPS.find((name) => name === requireText(members, 'step'))
      if (!step) throw new Refusal('bad_request', { about: `step must be one of ${STEPS.join(', ')}.` })
      const isForced = findArgument(members, 'force', FLAG) ?? false
      const done = await secrets.rotate(step, { isForced })
      return { done, rotation: await secrets.findRotation() }
    },
  },
  'secret.record-step': {
    method: 'POST',
    path: '/secrets/rotation/record',
    async run({ events }, { body, caller }) {
      const members = readMembers(body, ['step', 'file'])
      if (caller && !caller.isOwner)
        throw new Refusal('forbidden', { about: 'Only `cardea secret rotate` on the server can record a step.' })
      const taken = findText(members, 'step')
      if (taken === undefined) await confirmChange(events)
      else events.record('secrets.rotated', { step: requireTaken(taken), file: requireText(members, 'file') })
      return { recorded: taken !== undefined }
    },
  },
  'secret.replace': {
    method: 'POST',
    path: '/secrets/replacement',
    async run({ settings }, { body }) {
      const isImmediate = findArgument(readMembers(body ?? {}, ['now']), 'now', FLAG) ?? false
      const setting = { section: 'chttpd_auth', key: 'secret', text: createSecretText('HS256') }
      return settings.set(setting, { isImmediate })
    },
  },
} as const satisfies Record<string, Operation<unknown>>
