import { messageOf, Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Placement, Siblings, Topic } from '../base/siblings.ts'
import type { Audience, FromWorker, Said, SentError, ToWorker, WorkerReply } from './router.ts'

/** The channel of a worker to the router. */
export interface RouterPort {
  send(message: FromWorker): void
  onMessage(listener: (message: ToWorker) => void): void
}

/** The other workers, for one that has been started. It receives what they say from now on. */
export async function joinSiblings(port: RouterPort, log: Pick<Log, 'error'>): Promise<Siblings> {
  const handlers = new Map<string, (value: unknown) => unknown>()
  const onEnded: ((place: number) => void)[] = []
  const waiting = new Map<number, (replies: readonly WorkerReply[]) => void>()
  const welcomed = Promise.withResolvers<Placement>()
  let isFirst = false
  let wasComplete = false
  let lastId = 0

  const handle = async ({ topic, value }: Said): Promise<WorkerReply> => {
    const handler = handlers.get(topic)
    try {
      return handler ? { value: await handler(value) } : {}
    } catch (error) {
      if (!(error instanceof Refusal)) log.error('a message of another worker could not be handled', { topic, error })
      return { error: toSentError(error) }
    }
  }

  port.onMessage((message) => {
    if (message.kind === 'welcome') welcomed.resolve(message.placement)
    else if (message.kind === 'first') isFirst = message.isFirst
    else if (message.kind === 'complete') wasComplete = true
    else if (message.kind === 'ended') for (const listener of onEnded) listener(message.place)
    else if (message.kind === 'replies') {
      waiting.get(message.id)?.(message.replies)
      waiting.delete(message.id)
    } else if (message.kind === 'said') {
      const { id } = message
      void handle(message).then((reply) => port.send({ kind: 'reply', id, reply }))
    }
  })

  const say = async <Answer>(audience: Audience, topic: Topic<never, Answer>, value: unknown): Promise<Answer[]> => {
    lastId += 1
    const id = lastId
    const { promise, resolve } = Promise.withResolvers<readonly WorkerReply[]>()
    waiting.set(id, resolve)
    port.send({ kind: 'say', audience, id, topic: topic.name, value })
    return readReplies(await promise)
  }

  port.send({ kind: 'join' })
  return {
    ...(await welcomed.promise),
    isFirst: () => isFirst,
    wasComplete: () => wasComplete,
    onEnded: (listener) => void onEnded.push(listener),
    // the types of a topic are those of its handler
    answer: (topic, handler) => void handlers.set(topic.name, handler as (value: unknown) => unknown),
    tellAll: (topic, value) => say('all', topic, value),
    askAll: (topic, value) => say('soon', topic, value),
    async askFirst<Value, Answer>(topic: Topic<Value, Answer>, value: Value): Promise<Answer> {
      const own = isFirst ? handlers.get(topic.name) : undefined
      const [answer] = own ? [await own(value)] : await say('first', topic, value)
      // what the first process is asked has a handler
      return answer as Answer
    },
  }
}

function readReplies<Answer>(replies: readonly WorkerReply[]): Answer[] {
  for (const reply of replies) if ('error' in reply) throw new Refusal(reply.error.code, reply.error)
  return replies.flatMap((reply) => ('value' in reply ? [reply.value as Answer] : []))
}

function toSentError(error: unknown): SentError {
  if (!(error instanceof Refusal)) return { code: 'internal', detail: `another worker failed: ${messageOf(error)}` }
  const { code, reason, value, detail, retryAfterSeconds } = error
  return { code, reason, value, detail, retryAfterSeconds }
}
