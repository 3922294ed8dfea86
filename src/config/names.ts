import type { Config } from './options.ts'

/** Names on the wire that follow from `document.name` and `multi-model.name` where no option gives them. */
export interface WireNames {
  readonly userNameHeader: string
  readonly rolesHeader: string
  readonly tokenHeader: string
  readonly rolesClaim: string
  /** Prefix of the id of a user document. */
  readonly userIdPrefix: string
  readonly realm: string
  readonly issuer: string
}

export function toWireNames(values: Config): WireNames {
  const { chttpd_auth: auth, jwt_auth: jwt } = values
  const document = values.document.name
  const multiModel = values['multi-model'].name
  return {
    userNameHeader: auth.x_auth_username || `X-Auth-${document}-UserName`,
    rolesHeader: auth.x_auth_roles || `X-Auth-${document}-Roles`,
    tokenHeader: auth.x_auth_token || `X-Auth-${document}-Token`,
    rolesClaim: jwt.roles_claim_name || `_${document.toLowerCase()}.roles`,
    userIdPrefix: `org.${document.toLowerCase()}.user:`,
    realm: multiModel,
    issuer: multiModel.toLowerCase(),
  }
}
