// The secrets that sign and verify, by their hashes. No operation returns a secret.
import { badRequest } from '../../../base/errors.ts'
import { requireChange } from '../../../directory/caller.ts'
import { createSecretText } from '../../../keys/new-secret.ts'
import { operation, requireOwner, requireServer } from '../operation.ts'
import { flag, object, oneOf, text } from '../schemas/schema.ts'
import { RELOADED, SECRET_LIST, SETTING_CHANGE } from '../schemas/settings.ts'

export const SECRET_OPERATIONS = {
  'secret.list': operation('GET /secrets', 'administrator', {
    summary: 'List the secrets by their hashes',
    reply: SECRET_LIST,
    run: async (deps) => ({ rings: await requireServer(deps).secrets.list() }),
  }),
  'secret.reload': operation('POST /secrets/reload', 'administrator', {
    summary: 'Read the files of all secrets again',
    reply: RELOADED,
    run: async (deps) => ({ reloaded: await requireServer(deps).secrets.reload() }),
  }),
  'secret.record-step': operation('POST /secrets/rotation/record', 'administrator', {
    summary: 'Record a step that `cardea secret rotate` has taken; only at the control socket',
    body: object({
      'step?': oneOf(['added', 'activated', 'removed'], 'Absent: only check that a step can be recorded.'),
      'file?': text('Name of the file. Needed with `step`.'),
    }),
    reply: object({ recorded: flag() }),
    async run({ events }, { body, caller, requester }) {
      requireOwner(requester)
      const { step, file } = body
      if (step === undefined) await requireChange(caller, events)
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
    async run({ settings }, { body, caller }) {
      const setting = { section: 'chttpd_auth', key: 'secret', text: createSecretText('HS256') }
      return settings.set(setting, caller, { isImmediate: body.now ?? false })
    },
  }),
}
