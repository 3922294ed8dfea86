import type { Reply, RequestContext } from '../../http/request-context.ts'

/** `unready`: the status asks load balancers to send no requests, such as `maintenance_mode`. */
export type DocumentUpstreamHealth =
  | { readonly kind: 'up' | 'down' }
  | { readonly kind: 'unready'; readonly status: string }

/** The database behind this door. */
export interface DocumentUpstream {
  /** Whether an upstream is configured. */
  isSet(): boolean
  forward(context: RequestContext): Promise<Reply>
  /** The same with the whole body in memory, decoded. A larger or truncated body is `upstream_failed`. */
  forwardWhole(context: RequestContext, maxBytes: number): Promise<Reply>
  checkHealth(path: string): Promise<DocumentUpstreamHealth>
}
