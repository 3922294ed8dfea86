import { Refusal } from '../base/errors.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Dialect, Handler, Reply, RequestContext } from './request-context.ts'
import { createRouter, type Router } from './router.ts'

/** Requests whose path begins with this segment, spelled plainly, speak another dialect from beginning to end. */
export interface Mount {
  readonly segment: string
  readonly dialect: Dialect
  /** A method that is the door's own to answer, there as everywhere. */
  readonly leaves?: string
}

/** A dialect that answers. */
export interface Speaker {
  readonly dialect: Dialect
  readonly find: Router
}

export type ChooseSpeaker = (target: string, method: string | undefined) => Speaker

/** Decided on the raw target, so that nothing a dialect takes off or decodes can lead past a mount, or into one. */
export function createSpeakers(dialect: Dialect, mounts: readonly Mount[]): ChooseSpeaker {
  const toSpeaker = (speaks: Dialect): Speaker => ({ dialect: speaks, find: createRouter(speaks.routes) })
  const own = toSpeaker(dialect)
  const mounted = mounts.map((mount) => ({ ...mount, prefix: `/${mount.segment}`, speaker: toSpeaker(mount.dialect) }))
  return (target, method) => {
    for (const { prefix, leaves, speaker } of mounted)
      if (isUnder(target, prefix)) return leaves !== undefined && leaves === method ? own : speaker
    return own
  }
}

const isUnder = (target: string, prefix: string): boolean =>
  target.startsWith(prefix) && ENDS_SEGMENT.has(target.charAt(prefix.length))

const ENDS_SEGMENT: ReadonlySet<string> = new Set(['', '/', '?'])

/** What a dialect answers, by its steps from the one at `from` on, then by its routes. */
export function answer(context: RequestContext, speaker: Speaker, from = 0): MaybePromise<Reply> {
  const { steps } = speaker.dialect
  for (let at = from; at < steps.length; at += 1) {
    const ran = steps[at]?.run(context)
    // most have nothing to wait for, and every wait lets others go first
    if (ran instanceof Promise) return ran.then((reply) => reply ?? answer(context, speaker, at + 1))
    if (ran) return ran
  }
  return answerByRoute(context, speaker)
}

function answerByRoute(context: RequestContext, { dialect, find }: Speaker): MaybePromise<Reply> {
  const match = find(context.path.segments)
  if (!match || (match.route.isStandIn && dialect.hasUpstream?.())) return dialect.fallback(context)
  const handler = findHandler(match.route.methods, context.method)
  if (handler) return handler(context, match.params)
  throw new Refusal('method_not_allowed', { about: allowedMethods(match.route).join(',') })
}

const findHandler = (methods: Readonly<Record<string, Handler>>, method: string): Handler | undefined =>
  Object.hasOwn(methods, method) ? methods[method] : method === 'HEAD' ? methods['GET'] : undefined

const allowedMethods = (route: { methods: object; allow?: readonly string[] }): readonly string[] =>
  route.allow ?? Object.keys(route.methods)
