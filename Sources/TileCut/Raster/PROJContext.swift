import CPROJ
import CPROJShim
import LibC
import Support
import Synchronization
import TileIndex

/// A PROJ context that does not print, does not use the network and keeps its last error message.
///
/// PROJ objects belong to the context that created them, and a context serves one thread at a time. The owner of this
/// object ensures both.
///
/// PROJ's own contexts are used again by others: a new one opens the database, which takes milliseconds, and keeps what
/// it read there.
final class PROJContext {
  var pointer: OpaquePointer { connection.pointer }
  private let connection: Connection
  /// Those without objects.
  private static let unused = Mutex<[Connection]>([])
  /// Each holds some hundred kilobytes. Every worker takes one for a moment beside its own.
  private static let unusedMax = max(Processors.count, 4)

  /// A context of PROJ's. One thread at a time has it.
  private final class Connection: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The message that PROJ would print on stderr.
    var complaint: String?
    /// Transformations that are kept, by the definitions of their CRSs.
    var operations: [Pair: Operation] = [:]

    init() {
      pointer = proj_context_create()
      // With grids from the network, the same cut would differ between machines.
      proj_context_set_enable_network(pointer, 0)
      proj_log_level(pointer, PJ_LOG_ERROR)
      proj_log_func(pointer, Unmanaged.passUnretained(self).toOpaque()) { data, _, message in
        guard let data, let message else { return }
        Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue().complaint = String(cString: message)
      }
    }

    deinit {
      for operation in operations.values { proj_destroy(operation.pointer) }
      proj_context_destroy(pointer)
    }
  }

  private struct Pair: Hashable {
    let source: String
    let target: String
  }

  private struct Operation {
    let pointer: OpaquePointer
    /// Whether PROJ has this one alone where both CRSs are used.
    let isOnly: Bool
    /// Where both CRSs are used, in degrees; empty if that is not known. Beside it PROJ may prefer another operation,
    /// and across its edge choose for each point.
    let areaOfUse: [BoundingBox]

    func isChosen(for area: BoundingBox?) -> Bool {
      guard let area else { return true }
      return isOnly
        && TileMatrixSet.splitAtAntimeridian(area).allSatisfy { part in
          areaOfUse.contains { $0.intersection(part) == part }
        }
    }
  }
  /// As many as a map of all UTM zones needs.
  private static let operationsMax = 256

  /// - Throws: ``CutError`` if PROJ is missing.
  init() throws {
    try LazyLibrary.proj.require()
    connection = Self.unused.withLock { $0.popLast() } ?? Connection()
  }

  deinit {
    connection.complaint = nil
    Self.unused.withLock { if $0.count < Self.unusedMax { $0.append(connection) } }
  }

  /// Returns and clears PROJ's last error message, without the name of the function that raised it.
  func takeComplaint() -> String? {
    defer { connection.complaint = nil }
    guard var text = connection.complaint else { return nil }
    for prefix in ["proj_create_from_database: ", "proj_create_from_wkt: ", "proj_create: ", "pj_obj_create: "]
    where text.hasPrefix(prefix) {
      text.removeFirst(prefix.count)
    }
    return text
  }

  /// Takes ownership of an object that PROJ created; nil for a null pointer.
  func own(_ object: OpaquePointer?) -> PROJObject? {
    object.map { PROJObject($0, in: self) }
  }

  /// The transformation that ``keepOperation(from:to:definitions:)`` made of two definitions, x and y to x and y.
  ///
  /// - Parameter area: where the coordinates lie, in degrees; nil if nobody knows, so that PROJ chooses for each point.
  /// - Returns: nil if there is none, or if PROJ may choose another one for the area.
  func keptOperation(from source: String, to target: String, area: BoundingBox?) -> PROJObject? {
    guard let kept = connection.operations[Pair(source: source, target: target)], kept.isChosen(for: area) else {
      return nil
    }
    return PROJObject(kept.pointer, in: self, isOwned: false)
  }

  /// Makes the transformation between two CRSs for any area, once: PROJ takes milliseconds to choose, and thousands of
  /// sources share a few CRSs.
  func keepOperation(from source: PROJObject, to target: PROJObject, definitions: (String, String)) {
    let pair = Pair(source: definitions.0, target: definitions.1)
    guard connection.operations[pair] == nil, connection.operations.count < Self.operationsMax,
      let made = own(proj_create_crs_to_crs_from_pj(pointer, source.pointer, target.pointer, nil, nil)),
      let ordered = proj_normalize_for_visualization(pointer, made.pointer)
    else { return }
    var (west, south, east, north) = (0.0, 0.0, 0.0, 0.0)
    let isKnown = proj_get_area_of_use(pointer, made.pointer, &west, &south, &east, &north, nil) != 0 && south >= -90
    let use = BoundingBox(west: west, south: south, east: east, north: north)
    connection.operations[pair] = Operation(
      pointer: ordered,
      // A choice of several has no type.
      isOnly: made.type != PJ_TYPE_UNKNOWN, areaOfUse: isKnown ? TileMatrixSet.splitAtAntimeridian(use) : [])
  }

  /// Parses any text that PROJ knows: an authority code, WKT 1 or 2, ESRI WKT, PROJJSON or a PROJ string.
  func create(_ text: String) -> PROJObject? {
    // Without a type a PROJ string is a bare projection, not a CRS.
    let isPROJString = text.contains("proj=") && !text.contains("type=crs") && !text.contains("[")
    return own(proj_create(pointer, isPROJString ? "\(text) +type=crs" : text))
  }

  /// An object of the EPSG registry, such as the datum 6277; nil if it has none of this category.
  func registered(_ code: Int, _ category: PJ_CATEGORY) -> PROJObject? {
    own(proj_create_from_database(pointer, "EPSG", "\(code)", category, 0, nil))
  }

  /// The objects of the registries whose name, or an alias of it, is or resembles `name`, the best match first.
  func objects(named name: String, types: [PJ_TYPE], isApproximate: Bool, limit: Int) -> [PROJObject] {
    var types = types
    return objects(
      proj_create_from_name(pointer, nil, name, &types, types.count, isApproximate ? 1 : 0, limit, nil))
  }

  /// Takes ownership of a list that PROJ created.
  func objects(_ list: OpaquePointer?) -> [PROJObject] {
    guard let list else { return [] }
    defer { proj_list_destroy(list) }
    return (0..<proj_list_get_count(list)).compactMap { own(proj_list_get(pointer, list, $0)) }
  }

  /// Why PROJ can create nothing at all, or nil if it works. Without this a definition would be blamed.
  ///
  /// - Parameter words: PROJ's last error message.
  func failure(_ words: String? = nil) -> CutError? {
    func isOfMemory(_ words: String) -> Bool { words.contains("bad_alloc") || words.contains("out of memory") }
    let lacksMemory = words.map(isOfMemory) ?? false
    if !lacksMemory, create("EPSG:4326") != nil { return nil }
    let words = takeComplaint() ?? ""
    if lacksMemory || words.isEmpty || isOfMemory(words) {
      return CutError(
        .systemError, "PROJ has not enough memory to read its database",
        remedy: "raise the limit of the process's memory (ulimit -v), or cut with fewer --threads")
    }
    return CutError(
      .systemError, "PROJ cannot use its database (\(words))",
      remedy: "install PROJ's data (Debian: proj-data), or name its folder in PROJ_DATA")
  }
}

/// A PROJ object (`PJ`), destroyed with its last reference unless its context keeps it. It keeps its context alive.
final class PROJObject {
  let pointer: OpaquePointer
  let context: PROJContext
  private let isOwned: Bool

  fileprivate init(_ pointer: OpaquePointer, in context: PROJContext, isOwned: Bool = true) {
    (self.pointer, self.context, self.isOwned) = (pointer, context, isOwned)
  }

  deinit { if isOwned { proj_destroy(pointer) } }

  var type: PJ_TYPE { proj_get_type(pointer) }
  var name: String { proj_get_name(pointer).map { String(cString: $0) } ?? "" }

  /// Authority and code, such as `EPSG:4277`; nil for an object that is in no registry.
  var code: String? {
    guard let authority = proj_get_id_auth_name(pointer, 0), let code = proj_get_id_code(pointer, 0) else { return nil }
    return "\(String(cString: authority)):\(String(cString: code))"
  }

  /// The semi-major and semi-minor axis of a CRS's or a datum's ellipsoid, in metres.
  var axes: (major: Double, minor: Double)? {
    guard let ellipsoid = context.own(proj_get_ellipsoid(context.pointer, pointer)) else { return nil }
    var (major, minor) = (0.0, 0.0)
    _ = proj_ellipsoid_get_parameters(context.pointer, ellipsoid.pointer, &major, &minor, nil, nil)
    return (major, minor)
  }

  /// The base of a bound CRS, which carries its own datum shift; any other CRS itself.
  var unbound: PROJObject {
    guard type == PJ_TYPE_BOUND_CRS else { return self }
    return context.own(proj_get_source_crs(context.pointer, pointer)) ?? self
  }

  /// Whether both describe the same positions, whatever their names and the axis order of geographic CRSs.
  func isEquivalent(to other: PROJObject) -> Bool {
    proj_is_equivalent_to_with_ctx(
      context.pointer, pointer, other.pointer, PJ_COMP_EQUIVALENT_EXCEPT_AXIS_ORDER_GEOGCRS) != 0
  }

  /// PROJJSON without its `$schema`, or nil.
  var json: String? {
    let options: [String] = ["SCHEMA=", "MULTILINE=NO"]
    let copies = options.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let pointers = copies.map { UnsafePointer($0) } + [nil]
    return pointers.withUnsafeBufferPointer { list in
      proj_as_projjson(context.pointer, pointer, list.baseAddress).map { String(cString: $0) }
    }
  }

  /// WKT 2 (2019), or nil.
  var wkt: String? { proj_as_wkt(context.pointer, pointer, PJ_WKT2_2019, nil).map { String(cString: $0) } }
}
