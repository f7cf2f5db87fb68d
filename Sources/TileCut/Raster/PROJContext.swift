import CPROJ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A PROJ context that does not print, does not use the network and keeps its last error message.
///
/// PROJ objects belong to the context that created them, and a context serves one thread at a time. The owner of this
/// object ensures both.
final class PROJContext {
  let pointer: OpaquePointer
  private let complaint: Complaint

  /// The message that PROJ would print on stderr. A class, so that C can hold its address.
  private final class Complaint {
    var text: String?
  }

  init() {
    pointer = proj_context_create()
    complaint = Complaint()
    // With grids from the network, the same cut would differ between machines.
    proj_context_set_enable_network(pointer, 0)
    proj_log_level(pointer, PJ_LOG_ERROR)
    proj_log_func(pointer, Unmanaged.passUnretained(complaint).toOpaque()) { data, _, message in
      guard let data, let message else { return }
      Unmanaged<Complaint>.fromOpaque(data).takeUnretainedValue().text = String(cString: message)
    }
  }

  deinit { proj_context_destroy(pointer) }

  /// Returns and clears PROJ's last error message, without the name of the function that raised it.
  func takeComplaint() -> String? {
    defer { complaint.text = nil }
    guard var text = complaint.text else { return nil }
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

  /// Parses any text that PROJ knows: an authority code, WKT 1 or 2, ESRI WKT, PROJJSON or a PROJ string.
  func create(_ text: String) -> PROJObject? {
    // Without a type a PROJ string is a bare projection, not a CRS.
    let isPROJString = text.contains("proj=") && !text.contains("type=crs") && !text.contains("[")
    return own(proj_create(pointer, isPROJString ? "\(text) +type=crs" : text))
  }
}

/// A PROJ object (`PJ`), destroyed with its last reference. It keeps its context alive.
final class PROJObject {
  let pointer: OpaquePointer
  let context: PROJContext

  fileprivate init(_ pointer: OpaquePointer, in context: PROJContext) {
    self.pointer = pointer
    self.context = context
  }

  deinit { proj_destroy(pointer) }

  var type: PJ_TYPE { proj_get_type(pointer) }
  var name: String { proj_get_name(pointer).map { String(cString: $0) } ?? "" }

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
