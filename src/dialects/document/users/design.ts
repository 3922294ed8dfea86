import { nextRevision } from '../../../directory/users/revisions.ts'

export const DESIGN_ID = '_design/_auth'

/**
 * The rules of `validate.ts` as a function for CouchDB: some tools look for it, and copies of this database use it.
 * Cardea does not run it, so it cannot be changed here.
 */
const renderFunction = (prefix: string): string => `function (doc, old, context, security) {
  if (doc._id.indexOf('_design/') === 0) return;
  var refuse = function (reason) { throw { forbidden: reason }; };
  var truth = function (value, reason) { if (!value) refuse(reason); };
  var holds = function (list, item) { return (list || []).indexOf(item) >= 0; };
  var admins = (security && security.admins) || {};
  var isServerAdmin = holds(context.roles, '_admin');
  var isAdmin = isServerAdmin || holds(admins.names, context.name) ||
    context.roles.some(function (role) { return holds(admins.roles, role); });
  if (doc._deleted === true) {
    truth(isServerAdmin || (old && context.name === old.name), 'Only admins may delete other user docs.');
    return;
  }
  truth(doc.type === 'user', 'doc.type must be user');
  truth(doc.name, 'doc.name is required');
  truth(doc.roles, 'doc.roles must exist');
  truth(Array.isArray(doc.roles), 'doc.roles must be an array');
  truth(doc.roles.every(function (role) { return typeof role === 'string'; }), 'doc.roles can only contain strings');
  truth(doc._id === ${JSON.stringify(prefix)} + doc.name, 'Doc ID must be of the form ' + ${JSON.stringify(prefix)} + 'name');
  var isUpdate = old && old._deleted !== true;
  truth(!isUpdate || old.name === doc.name, 'Usernames can not be changed.');
  truth(!doc.password_sha || doc.salt, 'Users with password_sha must have a salt.');
  var schemes = ['simple', 'pbkdf2', 'simple+pbkdf2'];
  truth(!doc.password_scheme || holds(schemes, doc.password_scheme), 'Password scheme \`' + doc.password_scheme + '\` not supported.');
  if (doc.password_scheme === 'pbkdf2') {
    truth(typeof doc.iterations === 'number', 'iterations must be a number.');
    truth(typeof doc.derived_key === 'string', 'derived_key must be a string.');
  }
  if (!isAdmin) {
    var bag = function (roles) { return JSON.stringify(roles.slice().sort()); };
    truth(!isUpdate || context.name === doc.name, 'You may only update your own user document.');
    truth(!isUpdate || bag(old.roles) === bag(doc.roles), 'Only _admin may edit roles');
    truth(isUpdate || doc.roles.length === 0, 'Only _admin may set roles');
  }
  doc.roles.forEach(function (role) {
    truth(role[0] !== '_' || role === '_metrics', 'No system roles (starting with underscore) in users db.');
  });
  truth(doc.name[0] !== '_', 'Username may not start with underscore.');
  truth(doc.name.indexOf(':') < 0, 'Character \`:\` is not allowed in usernames.');
}`

export function createDesignDocument(prefix: string) {
  const text = renderFunction(prefix)
  return {
    revision: nextRevision(undefined, text),
    members: [['language', 'javascript'] as const, ['validate_doc_update', text] as const],
  }
}
