import COpenJPEG
import LibC

/// One pass of OpenJPEG over a JPEG 2000 file: reads the header, then decodes one window. Not thread-safe.
final class JP2Codec {
  /// What the header says.
  private(set) var image: UnsafeMutablePointer<opj_image_t>
  private let codec: UnsafeMutablePointer<opj_codec_t?>
  private let stream: UnsafeMutablePointer<opj_stream_t?>
  private let input: Input
  private let path: String

  /// Where OpenJPEG reads, and what it says about it.
  private final class Input {
    let file: SourceFile
    var position = 0
    var message = ""
    init(_ file: SourceFile) { self.file = file }
  }

  /// Opens a file and reads its header.
  ///
  /// - Parameter reduction: how often the resolution is halved.
  /// - Throws: ``CutError`` `.badSource`.
  init(_ file: SourceFile, reduction: Int = 0) throws {
    path = file.path
    input = Input(file)
    let isBox = file.prefix(4).starts(with: [0, 0, 0, 12])
    if isBox { try JP2Boxes.check(file) }
    guard let codec = opj_create_decompress(isBox ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K) else {
      throw Self.failure(path, "there is no memory to decode it")
    }
    guard let stream = opj_stream_create(1 << 18, 1) else {
      opj_destroy_codec(codec)
      throw Self.failure(path, "there is no memory to decode it")
    }
    (self.codec, self.stream) = (codec, stream)
    Self.connect(stream, codec, input)
    var parameters = opj_dparameters_t()
    opj_set_default_decoder_parameters(&parameters)
    parameters.cp_reduce = UInt32(reduction)
    var header: UnsafeMutablePointer<opj_image_t>?
    guard opj_setup_decoder(codec, &parameters) != 0, opj_decoder_set_strict_mode(codec, 1) != 0,
      opj_read_header(stream, codec, &header) != 0, let header
    else {
      if let header { opj_image_destroy(header) }
      let message = input.message
      opj_stream_destroy(stream)
      opj_destroy_codec(codec)
      throw Self.failure(path, "its header cannot be decoded: \(message.isEmpty ? "it is damaged" : message)")
    }
    image = header
  }

  deinit {
    opj_image_destroy(image)
    opj_stream_destroy(stream)
    opj_destroy_codec(codec)
  }

  /// The components of the header or of the last decoded window.
  var components: UnsafeBufferPointer<opj_image_comp_t> {
    UnsafeBufferPointer(start: image.pointee.comps, count: Int(image.pointee.numcomps))
  }

  /// The size of the tiles and how often the resolution can be halved; nil if the header lacks them.
  var tiling: (width: Int, height: Int, count: Int, reductionMax: Int)? {
    guard let info = opj_get_cstr_info(codec) else { return nil }
    defer {
      var info: UnsafeMutablePointer<opj_codestream_info_v2_t>? = info
      opj_destroy_cstr_info(&info)
    }
    let facts = info.pointee
    guard let component = facts.m_default_tile_info.tccp_info else { return nil }
    return (
      Int(facts.tdx), Int(facts.tdy), Int(facts.tw) * Int(facts.th), max(Int(component.pointee.numresolutions) - 1, 0)
    )
  }

  /// Decodes a window, given in the coordinates of the reference grid.
  ///
  /// - Throws: ``CutError`` `.badSource` with OpenJPEG's words.
  func decode(left: Int, top: Int, right: Int, bottom: Int) throws {
    guard
      opj_set_decode_area(codec, image, Int32(left), Int32(top), Int32(right), Int32(bottom)) != 0,
      opj_decode(codec, stream, image) != 0, components.allSatisfy({ $0.data != nil })
    else {
      throw Self.failure(
        path,
        "the pixels from \(left),\(top) to \(right),\(bottom) cannot be decoded: "
          + (input.message.isEmpty ? "they are damaged" : input.message)
      )
    }
  }

  static func failure(_ path: String, _ message: String) -> CutError {
    CutError(.badSource, path: path, message, remedy: "the file is damaged; copy or make it again")
  }

  private static func connect(
    _ stream: UnsafeMutablePointer<opj_stream_t?>, _ codec: UnsafeMutablePointer<opj_codec_t?>, _ input: Input
  ) {
    let context = Unmanaged.passUnretained(input).toOpaque()
    opj_stream_set_user_data(stream, context, nil)
    opj_stream_set_user_data_length(stream, UInt64(input.file.size))
    opj_stream_set_read_function(stream) { target, count, context in
      let input = Unmanaged<Input>.fromOpaque(context!).takeUnretainedValue()
      let n = pread(input.file.descriptor, target, Int(count), off_t(input.position))
      // OpenJPEG's mark for the end of the file, and for errors.
      guard n > 0 else { return .max }
      input.position += n
      return OPJ_SIZE_T(n)
    }
    opj_stream_set_skip_function(stream) { count, context in
      let input = Unmanaged<Input>.fromOpaque(context!).takeUnretainedValue()
      let target = min(max(input.position + Int(count), 0), input.file.size)
      let skipped = target - input.position
      input.position = target
      return skipped == 0 && count != 0 ? -1 : OPJ_OFF_T(skipped)
    }
    opj_stream_set_seek_function(stream) { offset, context in
      let input = Unmanaged<Input>.fromOpaque(context!).takeUnretainedValue()
      guard offset >= 0, Int(offset) <= input.file.size else { return 0 }
      input.position = Int(offset)
      return 1
    }
    opj_set_error_handler(
      codec,
      { text, context in
        let input = Unmanaged<Input>.fromOpaque(context!).takeUnretainedValue()
        guard input.message.isEmpty, let text else { return }
        input.message = String(cString: text).split(separator: "\n").first.map(String.init) ?? ""
      }, context)
  }
}
