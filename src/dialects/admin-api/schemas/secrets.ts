import type { OperationName } from '../operations.ts'
import { type Description, flag, integer, listOf, named, nullable, object, oneOf, text } from './schema.ts'
import { CHANGE } from './settings.ts'

const KEY = object({
  hashPrefix: text('The beginning of the SHA-256 of the secret.'),
  isActive: flag('Whether it signs. The others only verify.'),
  algorithm: text(),
  'file?': text('Name of the file.'),
  'ageSeconds?': integer('Since the file or the setting was changed; absent: not known.'),
})

const RING = named(
  'KeyRing',
  object({
    option: text('The option that names the secrets.'),
    use: text('What they are for.'),
    source: text('The file or folder, or where the option is set.'),
    reloadable: flag('Whether a reload reads them again.'),
    problem: nullable(text(), 'Why the last reload failed; the previous secrets are in use then.'),
    keys: listOf(KEY, 'The secret that signs comes first.'),
  }),
)

const STEP = oneOf(['add', 'activate', 'retire'])

const ROTATION = named(
  'Rotation',
  object({
    'next?': STEP,
    'until?': integer('The time from which the step `retire` rejects no valid token, in seconds since the epoch.'),
    'problem?': text('Why no step can be taken; absent: one can.'),
  }),
)

export const SECRET_DESCRIPTIONS = {
  'secret.list': {
    summary: 'List the secrets by their hashes, and the state of a rotation',
    reply: object({ rings: listOf(RING), rotation: ROTATION }),
  },
  'secret.reload': {
    summary: 'Read the files of all secrets again',
    reply: object({ reloaded: listOf(object({ option: text(), problem: nullable(text()) })) }),
  },
  'secret.rotate': {
    summary: 'Take the next step of replacing the token secret that signs',
    body: object({
      step: STEP,
      'force?': flag('For `retire`: remove the old secret even if tokens signed with it may be valid.'),
    }),
    reply: object({
      done: object({
        kind: oneOf(['added', 'activated', 'removed', 'waiting'], '`waiting`: nothing was changed.'),
        file: text('Name of the file.'),
        'until?': integer('For `waiting`: the time from which the step can be taken, in seconds since the epoch.'),
      }),
      rotation: ROTATION,
    }),
  },
  'secret.record-step': {
    summary: 'Record a step that `cardea secret rotate` has taken; only at the control socket',
    body: object({
      'step?': oneOf(['added', 'activated', 'removed'], 'Absent: only check that a step can be recorded.'),
      'file?': text('Name of the file. Needed with `step`.'),
    }),
    reply: object({ recorded: flag() }),
  },
  'secret.replace': {
    summary: 'Replace the cookie secret by a random one',
    body: object({ 'now?': flag('Reject cookies of earlier secrets at once.') }),
    reply: CHANGE,
  },
} as const satisfies Partial<Record<OperationName, Description>>
