import Support
import TileIndex

/// What a plan divides, as the member `format` of its file says.
package enum PlanKind: String, Sendable, CaseIterable {
  /// One cut, into subtrees of its pyramid: ``ShardPlan``.
  case cut = "tilecut plan"
  /// The build of a catalogue, into its regions: ``BuildPlan``.
  case build = "tilecut build plan"

  /// The kind of a plan's file.
  ///
  /// - Throws: ``CutError``: `.unreadableSource`; `.badSource` for a file that is no plan.
  package init(path: String) throws { self = try PlanFile.read(path).kind }
}

/// What the files of both kinds of plan have in common.
enum PlanFile {
  static func read(_ path: String) throws -> (kind: PlanKind, json: JSONValue) {
    let json: JSONValue
    do {
      json = try JSONFile.read(path)
    } catch let error as JSONFile.Unreadable {
      throw CutError(
        .unreadableSource, path: path, "cannot be read: \(error)", remedy: "make a new plan", repair: .makePlan)
    } catch {
      throw unfit(path, "is no plan: \(error)")
    }
    guard let kind = json["format"]?.string.flatMap(PlanKind.init(rawValue:)) else {
      throw unfit(path, "is no plan")
    }
    return (kind, json)
  }

  /// Reads a plan of one kind.
  ///
  /// - Throws: as ``read(_:)``; `.invalidOption` for a plan of the other kind.
  static func read(_ path: String, _ kind: PlanKind) throws -> JSONValue {
    let (found, json) = try read(path)
    guard found == kind else {
      throw CutError(
        .invalidOption, path: path, "is the plan of a \(found)",
        remedy: found == .cut ? "use cut --plan and merge --plan" : "use build --plan")
    }
    return json
  }

  /// An error of a plan that does not fit, and cannot fit at the next attempt.
  static func unfit(_ path: String, _ what: String) -> CutError {
    CutError(.badSource, path: path, what, remedy: "make a new plan", repair: .makePlan)
  }

  static func changed(_ path: String) -> CutError { unfit(path, "was changed after it was made") }

  static func check(tool: String, is now: String, _ path: String) throws {
    guard tool == now else { throw unfit(path, "is of tilecut \(tool), and this is \(now)") }
  }
}
