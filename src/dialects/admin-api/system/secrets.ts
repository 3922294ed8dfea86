// The secrets that sign and verify, by their hashes. No operation returns a secret.
import { Refusal } from '../../../base/errors.ts'
import { createSecretText } from '../../../keys/new-secret.ts'
import type { StepName } from '../../../keys/rotate-secret.ts'
import { FLAG, findArgument, readMembers, requireText } from '../json.ts'
import type { Operation } from '../operation.ts'

const STEPS: readonly StepName[] = ['add', 'activate', 'retire']

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
