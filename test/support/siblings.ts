/** Workers of one server within one process: what they say is copied as between processes. */
import type { Siblings } from '../../src/base/siblings.ts'
import { joinSiblings } from '../../src/cluster/join-siblings.ts'
import { type FromWorker, type Member, Router, type ToWorker } from '../../src/cluster/router.ts'

export interface JoinedWorker {
  readonly siblings: Siblings
  /** What the supervisor says of it to the router. */
  readonly member: Member
  /** Whether the router has ended it. */
  isKilled(): boolean
}

const NO_LOG = { error: () => {} }

/** Starts one more worker. One that is killed has ended at once. */
export async function joinWorker(router: Router): Promise<JoinedWorker> {
  let listener = (_message: ToWorker) => {}
  let isKilled = false
  const member = router.add({
    send(message) {
      if (!isKilled) deliver(message, (copy) => listener(copy))
    },
    kill() {
      isKilled = true
      member.leave()
    },
  })
  const send = (message: FromWorker) => {
    deliver(message, (copy) => {
      if (!isKilled) member.receive(copy)
    })
  }
  const onMessage = (listen: typeof listener) => {
    listener = listen
  }
  return { siblings: await joinSiblings({ send, onMessage }, NO_LOG), member, isKilled: () => isKilled }
}

/** `count` workers that serve. The first of them is first. */
export async function joinWorkers(count: number, router = new Router(count)): Promise<readonly JoinedWorker[]> {
  const workers: JoinedWorker[] = []
  for (let index = 0; index < count; index += 1) {
    const worker = await joinWorker(router)
    worker.member.setReady()
    workers.push(worker)
  }
  return workers
}

function deliver<Message>(message: Message, take: (copy: Message) => void): void {
  const copy = structuredClone(message)
  queueMicrotask(() => take(copy))
}
