// The secrets that sign and verify, by their hashes. No operation returns a secret.
import { badRequest } from '../../../base/errors.ts'
import { confirmChange } from '../../../directory/confirm-change.ts'
import { createSecretText } from '../../../keys/new-secret.ts'
import { operation, requireOwner, requireServer } from '../operation.ts'
import { flag, object, oneOf, text } from '../schemas/schema.ts'
import { RELOADED, ROTATION, SECRET_LIST, SETTING_CHANGE, STEP, STEP_DONE } from '../schemas/settings.ts'

export const SECRET_OPERATIONS = {
  'secret.list': operation('GET /secrets', 'administrator', {
    summary: 'List the secrets by their hashes, and the state of a rotation',
    reply: SECRET_LIST,
    async run(deps) {
      const { secrets } = requireServer(deps)
      return { rings: await secrets.list(), rotation: await secrets.findRotation() }
    },
  }),
  'secret.reload': operation('POST /secrets/reload', 'administrator', {
    summary: 'Read the files of all secrets again',
    reply: RELOADED,
    run: async (deps) => ({ reloaded: await requireServer(deps).secrets.reload() }),
  }),
  'secret.rotate': operation('POST /secrets/rotation', 'administrator', {
    summary: 'Take the next step of replacing the token secret that signs',
    body: object({
      step: STEP,
      'force?': flag('For `retire`: remove the old secret even if tokens signed with it may be valid.'),
    }),
    reply: object({ done: STEP_DONE, rotation: ROTATION }),
    async run(deps, { body }) {
      const { secrets } = requireServer(deps)
      const done = await secrets.rotate(body.step, { isForced: body.force ?? false })
      return { done, rotation: await secrets.findRotation() }
    },
  }),
  'secret.record-step': operation('POST /secrets/rotation/record', 'administrator', {
    summary: 'Record a step that `cardea secret rotate` has taken; only at the control socket',
    body: object({
      'step?': oneOf(['added', 'activated', 'removed'], 'Absent: only check that a step can be recorded.'),
      'file?': text('Name of the file. Needed with `step`.'),
    }),
    reply: object({ recorded: flag() }),
    async run({ events }, { body, caller }) {
      requireOwner(caller)
      const { step, file } = body
      if (step === undefined) await confirmChange(events)
      else if (file === undefined) throw badRequest('file is missing.')
      else events.record('secrets.rotated', { step, file })
      return { recorded: step !== undefined }
    },
  }),
  'secret.replace': operation('POST /secrets/replacement', 'administrator', {
    summary: 'Replace the cookie secret by a random one',
    body: object({ 'now?': flag('Reject cookies of earlier secrets at once.') }),
    isBodyOptional: true,
    reply: SETTING_CHANGE,
    async run({ settings }, { body }) {
      const setting = { section: 'chttpd_auth', key: 'secret', text: createSecretText('HS256') }
      return settings.set(setting, { isImmediate: body.now ?? false })
    },
  }),
}
