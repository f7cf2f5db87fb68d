@_exported public import Support
import Synchronization

/// Why a cut could not be planned or finished. The message names the file and the remedy.
public struct CutError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// Options contradict each other or cannot be met.
    public static let invalidOption = Code("invalid option")
    /// The input does not exist or is not readable.
    public static let unreadableSource = Code("unreadable source")
    /// The input is damaged or of an unsupported kind.
    public static let badSource = Code("bad source")
    /// The input's georeference is missing or unusable.
    public static let noGeoreference = Code("no georeference")
    /// The output cannot be created or written (it exists, no space, no permission).
    public static let unwritableOutput = Code("unwritable output")
    /// The system lacks memory, or data that a library needs.
    package static let systemError = Code("system error")
    /// The caller cancelled the cut.
    public static let cancelled = Code("cancelled")
    /// A fault of the program itself, which another attempt would meet again.
    package static let programFault = Code("program fault")
  }

  /// The operation that the remedy speaks of, for programs that can offer it. Cases may be added, so a switch needs a
  /// default.
  public enum Repair: Hashable, Sendable {
    /// The source is cut with a coordinate reference system: the likely one, or nil where its user has to know it.
    case nameCRS(likely: String?)
    /// A raster is sent to standard input.
    case sendRaster
    /// A plan is made.
    case makePlan
    /// A shard of a plan is cut; nil for all that are missing.
    case cutShard(Int?, plan: String)
    /// The regions of a plan that are missing are made.
    case buildShards(plan: String)
  }

  public let code: Code
  /// The file concerned, as the caller named it.
  public let path: String?
  /// What is wrong; starts in lower case.
  public let message: String
  /// What the user can do about it.
  public let remedy: String?
  /// The operation of this library that the remedy names; nil for other remedies.
  public let repair: Repair?

  package init(
    _ code: Code, path: String? = nil, _ message: String, remedy: String? = nil, repair: Repair? = nil
  ) {
    self.code = code
    self.path = path
    self.message = message
    self.remedy = remedy
    self.repair = repair
  }
}

/// A source's distinct warnings, limited in number, collected from all threads.
final class WarningList: Sendable {
  private let texts = Mutex<[String]>([])
  private static let countMax = 8

  func add(_ text: String) {
    texts.withLock { if $0.count < Self.countMax && !$0.contains(text) { $0.append(text) } }
  }

  var all: [String] { texts.withLock { $0 } }
}
